// Asks the node in SQL or with a command, and shows what it answers. Everything that came from the node is
// shown as text and never as markup.
const $ = (id) => document.getElementById(id);
const ROWS = 200;
const BYTES = 1 << 20;
let running = null;
let cursor = null;
let shown = 0;

// A text as one value of a command.
function quoted(text) {
  const escapes = { "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return `"${text.replace(/[\\"\n\r\t]/g, (c) => escapes[c])}"`;
}

// A name as SQL takes it.
function identifier(name) {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function say(text, isError) {
  $("status").textContent = text;
  $("status").className = isError ? "error" : "";
}

function failed(error) {
  const hint = error.hint ? `\n${error.hint}` : "";
  return `${error.local_msg ?? error.err_text ?? "the node refused"}${hint}`;
}

async function post(path, body) {
  running?.abort();
  const own = new AbortController();
  running = own;
  $("cancel").hidden = false;
  try {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body), signal: own.signal };
    const response = await fetch(path, init);
    const text = await response.text();
    if (!response.ok) {
      let error;
      try { error = JSON.parse(text); } catch { error = { local_msg: `${response.status}: ${text}` }; }
      say(failed(error), true);
      return null;
    }
    return { text, type: response.headers.get("content-type") ?? "" };
  } catch (error) {
    if (running !== own) return null;
    say(error.name === "AbortError" ? "cancelled" : `the node does not answer: ${error.message}`, true);
    return null;
  } finally {
    if (running === own) {
      running = null;
      $("cancel").hidden = true;
    }
  }
}

// A number whose digits a browser would change stays as it came.
function exact(key, value, context) {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined || String(value) === source) return value;
  return /^-?\d+$/.test(source) ? BigInt(source) : Number(source) === value && source.length < 16 ? value : source;
}

function cellText(value) {
  if (value === null) return "NULL";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function showReply(text) {
  $("rows").replaceChildren();
  $("more").hidden = true;
  $("reply").hidden = text === "";
  $("reply").textContent = text;
}

function showPage(page, isMore) {
  let body = $("rows").querySelector("tbody");
  if (!isMore || !body) {
    showReply("");
    shown = 0;
    const table = element("table");
    const head = table.createTHead().insertRow();
    for (const name of page.columns) head.append(element("th", name));
    body = table.createTBody();
    $("rows").replaceChildren(table);
  }
  for (const row of page.rows) {
    const line = body.insertRow();
    for (const value of row) {
      const kind = value === null ? "null" : ["number", "bigint"].includes(typeof value) ? "number" : "";
      line.append(element("td", cellText(value), kind));
    }
  }
  shown += page.rows.length;
  cursor = page.cursor ?? null;
  $("more").hidden = cursor === null;
  const count = `${shown.toLocaleString("en")} ${shown === 1 ? "row" : "rows"}`;
  const parts = [page.has_more ? `the first ${count}` : count];
  parts.push(`${Math.max(1, Math.round(page.time_s * 1000)).toLocaleString("en")} ms`);
  if (page.answered?.length) parts.push(`from ${page.answered.join(", ")}`);
  if (page.missing?.length) parts.push(`WITHOUT ${page.missing.join(", ")}`);
  say(parts.join(", "), Boolean(page.missing?.length));
}

async function askRows(command, isMore) {
  const body = { command, rows: ROWS, bytes: BYTES, subset: $("subset").checked };
  if ($("destination").value && !isMore) body.destination = $("destination").value;
  say("…");
  const answer = await post("/api/v1/answers", body);
  if (!answer) return;
  if (answer.type.startsWith("application/vnd.edgemere.page+json")) {
    showPage(JSON.parse(answer.text, exact), isMore);
  } else {
    showReply(answer.text);
    say("");
  }
}

function runSql() {
  const sql = $("sql").value.trim().replace(/;\s*$/, "");
  if (sql === "") return say("write a query first", true);
  if (!$("dbms").value) return say("the node knows no database yet: store rows first", true);
  return askRows(`sql ${quoted($("dbms").value)} ${quoted(sql)}`, false);
}

async function runCommand() {
  const command = $("command").value.trim();
  if (command === "") return;
  say("…");
  const answer = await post("/", { command });
  if (!answer) return;
  const isJson = answer.type.startsWith("application/json");
  let text = answer.text.replace(/^\n/, "");
  if (isJson) try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* as it came */ }
  showReply(text);
  say("");
}

// The databases and tables that the node knows; a click fills in a query.
async function listTables() {
  const command = "get tables where dbms = * and format = mcp";
  try {
    const response = await fetch(`/?command=${encodeURIComponent(command)}`);
    const tables = response.ok ? await response.json() : [];
    const databases = [...new Set(tables.map((table) => table.database))];
    $("dbms").replaceChildren(...databases.map((name) => new Option(name, name)));
    const lists = databases.map((dbms) => {
      const part = element("details");
      part.open = databases.length <= 5;
      part.append(element("summary", dbms));
      for (const { table } of tables.filter((one) => one.database === dbms)) {
        const button = element("button", table, "example");
        button.type = "button";
        button.addEventListener("click", () => {
          $("dbms").value = dbms;
          $("sql").value = `select * from ${identifier(table)} limit 100`;
          runSql();
        });
        part.append(button);
      }
      return part;
    });
    $("tables").replaceChildren(...(lists.length ? lists : [element("span", "none yet")]));
    if (tables.length && $("sql").value === "") {
      $("sql").value = `select * from ${identifier(tables[0].table)} limit 100`;
    }
  } catch (error) {
    $("tables").textContent = `the node does not answer: ${error.message}`;
  }
}

$("query").addEventListener("submit", (event) => {
  event.preventDefault();
  runSql();
});
$("sql").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    runSql();
  }
});
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  runCommand();
});
$("cancel").addEventListener("click", () => running?.abort());
$("more").addEventListener("click", () => {
  if (cursor !== null) askRows(`query fetch ${quoted(cursor)}`, true);
});
for (const example of document.querySelectorAll("p .example")) {
  example.addEventListener("click", () => {
    $("command").value = example.textContent;
    runCommand();
  });
}
listTables();
