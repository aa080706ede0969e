// Sends an action and a stage id; shows what comes back as text.
"use strict";

const buttons = () => document.querySelectorAll("button");

async function act(button) {
  const section = button.closest("[data-stage]");
  const output = section.querySelector("pre");
  output.textContent = document.body.dataset.wait;
  for (const one of buttons()) one.disabled = true;
  try {
    const answer = await fetch(`/${document.documentElement.lang}/act`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        action: button.dataset.action,
        stage: section.dataset.stage,
      }),
    });
    const told = await answer.json();
    output.textContent = told.error || told.text;
    if (told.outcome) section.dataset.outcome = told.outcome;
    if (told.cleared) {
      for (const one of document.querySelectorAll("section[data-stage]")) {
        one.dataset.outcome = told.outcomes[one.dataset.stage] || "";
      }
    }
  } catch (error) {
    output.textContent = document.body.dataset.gone;
  }
  for (const one of buttons()) one.disabled = false;
  button.focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-action]");
  if (button) act(button);
});
