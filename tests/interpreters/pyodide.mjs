// Runs a module of this tree in Pyodide, CPython compiled to WebAssembly:
//   node pyodide.mjs FOLDER_OF_PYODIDE ROOT MODULE
// Nothing is fetched: Pyodide and the tree are read from disk.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, root, module] = process.argv.slice(2);
const home = resolve(folder);
const { loadPyodide } = await import(pathToFileURL(`${home}/pyodide.mjs`));
globalThis.fetch = () => {
  throw new Error("this run must not use the network");
};
const python = await loadPyodide({
  indexURL: home,
  packageBaseUrl: home,
  env: { PYTHONDONTWRITEBYTECODE: "1" },
});
python.FS.mkdirTree("/tree");
python.FS.mount(python.FS.filesystems.NODEFS, { root: resolve(root) }, "/tree");
python.globals.set("module", module);
await python.runPythonAsync(`
import runpy, sys
sys.path.insert(0, "/tree")
print(sys.version.split()[0], flush=True)
runpy.run_module(module, run_name="__main__")
sys.stdout.flush()
`);
