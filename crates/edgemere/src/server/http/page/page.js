// Asks the node what is written in the line, and shows what it answers.
const form = document.getElementById("ask");
const command = document.getElementById("command");
const reply = document.getElementById("reply");

function shown(text, isJson) {
  return isJson ? JSON.stringify(JSON.parse(text), null, 2) : text.replace(/^\n/, "");
}

function failed(error) {
  const hint = error.hint ? `\n\n${error.hint}` : "";
  return `${error.local_msg ?? error.err_text}${hint}`;
}

async function ask() {
  try {
    const response = await fetch(`/?command=${encodeURIComponent(command.value)}`);
    const text = await response.text();
    const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
    reply.className = response.ok ? "" : "error";
    reply.textContent = response.ok ? shown(text, isJson) : failed(JSON.parse(text));
  } catch (error) {
    reply.className = "error";
    reply.textContent = `the node does not answer: ${error.message}`;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});

for (const example of document.querySelectorAll(".example")) {
  example.addEventListener("click", () => {
    command.value = example.textContent;
    ask();
  });
}

ask();
