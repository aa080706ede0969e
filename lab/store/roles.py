"""The role that readers' queries run as, which row security must bind."""

from __future__ import annotations

from typing import Final

from psycopg import sql

from lab.errors import InvalidInput
from lab.store.pool import Connection, ask

# PostgreSQL cuts longer names off, in silence.
MAX_NAME: Final = 63


def role_of(schema: str, database: str) -> str:
    """Return the reading role's name.

    Roles belong to the whole server, so the database is part of it. Raises
    ``InvalidInput`` for a name that would be cut off.
    """
    name = f"{schema}_{database}_reader"
    if len(name.encode("utf-8")) > MAX_NAME:
        raise InvalidInput(
            f"schema: {schema!a} with database {database!a} makes a role"
            f" name of more than {MAX_NAME} bytes; name a shorter schema"
        )
    return name


def make(connection: Connection, role: str, password: str) -> None:
    """Make the reading role, or give the one that is there a password.

    The server is sent the SCRAM verifier, so that no log of statements
    holds the password.
    """
    verifier = connection.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    ).decode()
    known = connection.execute(
        "SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)
    ).fetchone()
    connection.execute(
        sql.SQL("{} ROLE {} LOGIN NOCREATEDB NOCREATEROLE PASSWORD {}").format(
            sql.SQL("ALTER" if known else "CREATE"),
            sql.Identifier(role),
            sql.Literal(verifier),
        )
    )


def faults(connection: Connection, schema: str) -> list[str]:
    """Return why row security would not hold this connection's role."""
    ((superuser, bypasses, replicates, makes_roles, makes),) = ask(
        connection,
        b"SELECT rolsuper, rolbypassrls, rolreplication, rolcreaterole,"
        b" has_schema_privilege(%s, 'CREATE')"
        b" FROM pg_roles WHERE rolname = current_user",
        schema,
    )
    found = []
    if superuser:
        found.append("is a superuser")
    if bypasses:
        found.append("may bypass row security (BYPASSRLS)")
    if replicates:
        found.append("may copy the whole server (REPLICATION)")
    if makes_roles:
        found.append("may make roles (CREATEROLE)")
    if makes:
        found.append("may make things in the schema (CREATE)")
    found += [
        f"is a member of the role {name}"
        for (name,) in ask(
            connection,
            b"SELECT r.rolname FROM pg_auth_members m"
            b" JOIN pg_roles r ON r.oid = m.roleid"
            b" JOIN pg_roles me ON me.oid = m.member"
            b" WHERE me.rolname = current_user ORDER BY 1",
        )
    ]
    found += [
        f"owns {name}"
        for (name,) in ask(
            connection,
            b"SELECT c.relname FROM pg_class c"
            b" JOIN pg_namespace n ON n.oid = c.relnamespace"
            b" JOIN pg_roles me ON me.oid IN (c.relowner, n.nspowner)"
            b" WHERE n.nspname = %s AND me.rolname = current_user"
            b" ORDER BY 1",
            schema,
        )
    ]
    found += [
        f"may {what} {name}" for name, what in ask(connection, _GRANTS, schema)
    ]
    found += [
        f"reads {name}, where row security is off"
        for (name,) in ask(connection, _OPEN, schema)
    ]
    return found


# More than it was given: any change, and a look at a whole table, whose
# system columns tell of other people's rows.
_GRANTS: Final = b"""
SELECT c.relname, p.what
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN (VALUES
  ('INSERT', false), ('UPDATE', false), ('REFERENCES', false),
  ('SELECT', true), ('DELETE', true), ('TRUNCATE', true), ('TRIGGER', true)
) p(what, whole)
WHERE n.nspname = %s AND c.relkind IN ('r', 'p')
  AND CASE WHEN p.whole THEN has_table_privilege(c.oid, p.what)
      ELSE has_any_column_privilege(c.oid, p.what) END
ORDER BY 1, 2
"""

# What it may read must be behind the wall, except how the index was built.
_OPEN: Final = b"""
SELECT c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind IN ('r', 'p')
  AND c.relname <> 'settings' AND NOT c.relrowsecurity
  AND has_any_column_privilege(c.oid, 'SELECT')
ORDER BY 1
"""
