// An agent's whole path through a node's tools, walked with whatever client it is given.
//
// `v1.mjs` and `v2.mjs` bring the client: the two lines of the official packages. A line is printed for
// every check; the first that fails ends the walk. It is the walk of `../python/walk.py`.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual as same } from 'node:util';

// How long anything may take that is waited for: far more than it needs, so that no busy machine fails.
export const PATIENCE_MS = 60_000;
// How often it is looked whether it has come.
const LOOK_MS = 50;
// How much is shown of an answer that is wrong.
const SAID_MAX = 4000;

const TOOLS = [
  'list_databases', 'list_tables', 'list_database_schema', 'get_schema', 'sample', 'query', 'sql',
  'query_with_increments', 'fetch_rows', 'explain', 'list_nodes', 'data_location', 'monitor_nodes',
  'list_policies', 'node_status', 'server_info', 'job_status', 'cancel_job', 'help',
].sort();

// Every row with every other, three times over: nobody waits for its end.
const endless = (table) => `select count(*) from ${table} a, ${table} b, ${table} c where a.n + b.n + c.n < 0`;

const writes = (table) => [
  `delete from ${table}`,
  `drop table ${table}`,
  `insert into ${table} (n) values (1)`,
  `update ${table} set n = 0`,
  `copy (select * from ${table}) to '/tmp/rows.csv'`,
  `select 1; drop table ${table}`,
  `create table other as select * from ${table}`,
];

const NEW_TOOL = `
  - name: rows_of_device
    description: How many rows a device has.
    command:
      sql: SELECT count(*) AS n FROM {t:table} WHERE device_name = {device}
      database: "{database}"
      headers: {destination: network}
    input_schema:
      properties:
        database: {type: string}
        table: {type: string}
        device: {type: string}
      required: [database, table, device]
`;

// An answer that is an error of the protocol.
export class Refused extends Error {
  constructor(code, message) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

class Failed extends Error {}

// Says that something holds, or ends the walk.
function check(what, holds, seen) {
  if (!holds) {
    const shown = typeof seen === 'string' ? seen : JSON.stringify(seen);
    throw new Failed(`${what}: ${shown}`.slice(0, SAID_MAX));
  }
  console.log(`   ok ${what}`);
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Looks until there is something, and gives it.
async function until(what, look) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const found = await look();
    if (found) return found;
    await sleep(LOOK_MS);
  }
  throw new Failed(`${what}: not after ${PATIENCE_MS} ms`);
}

// What happens, one after the other, for who waits for it.
export class Events {
  #happened = [];
  #waiting = [];

  put(event) {
    const next = this.#waiting.shift();
    if (next) next(event);
    else this.#happened.push(event);
  }

  // The next event; nothing when none comes in time.
  async next(ms = PATIENCE_MS) {
    if (this.#happened.length) return this.#happened.shift();
    let waiter;
    const event = new Promise((done) => this.#waiting.push((waiter = done)));
    const found = await Promise.race([event, sleep(ms)]);
    this.#waiting = this.#waiting.filter((other) => other !== waiter);
    return found;
  }
}

// Notes all progress that comes over a transport. Both clients forget who wants to hear of it as soon
// as they read the answer, also when they have read it together with the progress before it.
export function noteProgress(transport, agent) {
  const heard = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (message.method === 'notifications/progress') agent.progress.push(message.params);
    heard(message, extra);
  };
}

const textOf = (answer) => answer.content.map((block) => block.text ?? '').join('\n');
const namesOf = (list) => list.map((one) => one.name).sort();
const numbersTo = (count) => Array.from({ length: count }, (_, n) => n);

class Walk {
  constructor(agent, settings) {
    Object.assign(this, settings, { agent });
    this.toolsFile = settings.tools;
  }

  async whole() {
    await this.connected();
    await this.discovers();
    await this.others();
    await this.queries();
    await this.pages();
    await this.resources();
    await this.tail();
    await this.prompts();
    await this.streams();
    await this.cancels();
    await this.errors();
    await this.reloads();
  }

  // What a tool answers that gives a value.
  async value(tool, args = {}) {
    const answer = await this.agent.call(tool, args);
    check(`${tool} answers`, !answer.isError, answer);
    return answer.structuredContent.result;
  }

  // What a tool answers that gives rows.
  async page(tool, args) {
    const answer = await this.agent.call(tool, args);
    check(`${tool} answers`, !answer.isError, answer);
    const page = answer.structuredContent;
    check(`${tool} says how many rows`, page.row_count === page.rows.length, page);
    return [page, answer];
  }

  async connected() {
    const { protocol, server, instructions, canPing } = this.agent;
    check(`connected with ${protocol}`, protocol === this.protocol, protocol);
    check('the server says who it is', server?.name === 'edgemere', server);
    check('the server says how to begin', instructions?.includes('list_database_schema'), instructions);
    if (canPing) {
      await this.agent.ping();
      check('ping', true);
    }
  }

  async discovers() {
    const tools = await this.agent.list('tools');
    check('tools/list has the shipped tools', same(namesOf(tools), TOOLS), namesOf(tools));
    check('every tool is described', tools.every((tool) => tool.description), tools);
    const writing = namesOf(tools.filter((tool) => !tool.annotations.readOnlyHint));
    check('only one tool changes anything', same(writing, ['cancel_job']), writing);
    const databases = await this.value('list_databases');
    check('the database is there', databases.includes(this.database), databases);
    const tables = await this.value('list_tables', { database: this.database });
    check('the table is there', tables.includes(this.table), tables);
    const schema = await this.value('get_schema', { database: this.database, table: this.table });
    const names = namesOf(schema.columns);
    const wanted = ['timestamp', 'value', 'device_name', 'n'];
    check('the columns are there', wanted.every((name) => names.includes(name)), names);
  }

  // Every tool that nothing else needs. Clients refuse answers that are not as the tool's schema says.
  async others() {
    for (const [tool, args] of this.calls) {
      const answer = await this.agent.call(tool, args);
      check(`${tool} answers`, !answer.isError && answer.structuredContent, answer);
      const { answered, complete } = answer.structuredContent.provenance;
      check(`${tool} says where it comes from`, answered.length && complete, answer);
    }
  }

  async queries() {
    const [page, answer] = await this.page('query', {
      database: this.database,
      table: this.table,
      select: ['device_name', 'count(*) as n', 'avg(value) as mean'],
      group_by: ['device_name'],
      order_by: ['device_name'],
    });
    const counts = page.rows.map((row) => row.slice(0, 2));
    const expected = numbersTo(10).map((n) => [`sensor-${n}`, this.rows / 10]);
    check('rows are grouped', same(counts, expected), page);
    check('columns are named', same(page.columns, ['device_name', 'n', 'mean']), page.columns);
    check('the text says the same', same(JSON.parse(textOf(answer)), page), answer);
    const { answered, rows_scanned, complete, missing } = page.provenance;
    check('all nodes answered', same([...answered].sort(), this.nodes), page.provenance);
    check('all rows were read', rows_scanned === this.rows, page.provenance);
    check('nobody is missing', complete && missing === undefined, page.provenance);
  }

  async pages() {
    const sql = `select n, device_name, value from ${this.table} order by n`;
    let [page, answer] = await this.page('sql', { database: this.database, sql });
    check('what does not fit is said', page.truncated && page.rows.length < this.rows, page.row_count);
    const links = answer.content.filter((block) => block.type === 'resource_link');
    const seen = page.rows.map((row) => row[0]);
    let pages = 1;
    while (page.next_cursor) {
      [page] = await this.page('fetch_rows', { cursor: page.next_cursor });
      seen.push(...page.rows.map((row) => row[0]));
      pages += 1;
    }
    check(`${pages} pages have all rows, each once`, same(seen, numbersTo(this.rows)), `${seen.length} rows`);
    check('the last page says so', page.truncated === false, page.truncated);
    check('there is a link to all rows', links.length === 1, answer.content);
    await this.exported(links[0].uri);
  }

  async exported(link) {
    const get = async (form) => {
      const reply = await fetch(link.replace('format=ndjson', `format=${form}`));
      check(`the link gives ${form}`, reply.ok, reply.status);
      return Buffer.from(await reply.arrayBuffer());
    };
    const lines = (bytes) => bytes.toString().trimEnd().split('\n');
    const numbers = lines(await get('ndjson')).map((line) => JSON.parse(line).n);
    check('… with all rows', same(numbers, numbersTo(this.rows)), `${numbers.length} rows`);
    const csv = lines(await get('csv')).map((line) => line.trimEnd());
    check('… with all rows', csv[0] === 'n,device_name,value' && csv.length === this.rows + 1, csv.slice(0, 2));
    const arrow = await get('arrow');
    check('… that is arrow', arrow.subarray(0, 4).every((byte) => byte === 0xff), arrow.subarray(0, 8));
    const parquet = await get('parquet');
    const marks = [parquet.subarray(0, 4).toString(), parquet.subarray(-4).toString()];
    check('… that is parquet', same(marks, ['PAR1', 'PAR1']), marks);
  }

  async resources() {
    const uri = `edgemere://${this.database}/${this.table}`;
    const listed = (await this.agent.list('resources')).map((resource) => resource.uri);
    check('the table is a resource', listed.includes(uri), listed);
    check('the tools are a resource', listed.includes('edgemere://tools.yaml'), listed);
    const table = JSON.parse((await this.agent.read(uri))[0].text);
    check('it has columns and a few rows', table.sample.rows.length === 5 && table.columns.length, table);
    const { text } = (await this.agent.read('edgemere://tools.yaml'))[0];
    check('the tools can be read', text.includes('list_databases'), text);
    const nothing = await this.agent.read(`edgemere://${this.database}/nothing`).catch((error) => error);
    check('a table that is not there is no resource', nothing instanceof Refused, nothing);
    const template = 'edgemere://{database}/{table}';
    const templates = (await this.agent.list('resourceTemplates')).map((one) => one.uriTemplate);
    check('tables have a template', templates.includes(template), templates);
    const databases = await this.agent.complete(template, 'database', this.database.slice(0, 2), {});
    check('databases are completed', databases.includes(this.database), databases);
    const given = { database: this.database };
    const tables = await this.agent.complete(template, 'table', this.table.slice(0, 3), given);
    check('tables are completed', tables.includes(this.table), tables);
  }

  async tail() {
    const table = `${this.table}_tail`;
    const uri = `edgemere://${this.database}/${table}/tail`;
    // A node that the client has started says in its data where it listens.
    const bound = () => JSON.parse(readFileSync(join(this.data, 'node.json'), 'utf8'));
    this.rest ??= `http://${bound().http}`;
    await this.store(table, [{ n: 0 }]);
    await until('the new table', () => this.isKnown(table));
    const watching = await this.agent.watch([uri]);
    let row = 1;
    // The first look at the table may come after the first row.
    const event = await until('an update', async () => {
      await this.store(table, [{ n: row++ }]);
      return watching.events.next(3000);
    });
    await watching.end();
    check('a new row is told to who watches the table', event === uri, event);
    const tail = JSON.parse((await this.agent.read(uri))[0].text);
    check('the tail has it', tail.rows.length > 0, tail);
  }

  async isKnown(table) {
    const answer = await this.agent.call('sql', this.asked(`select n from ${table}`));
    return !answer.isError;
  }

  async store(table, rows) {
    const headers = { 'User-Agent': 'AnyLog/1.23', type: 'json', dbms: this.database, table };
    const reply = await fetch(this.rest, { method: 'PUT', headers, body: JSON.stringify(rows) });
    if (!reply.ok) throw new Failed(`rows were not stored: ${await reply.text()}`);
    await reply.arrayBuffer();
  }

  async prompts() {
    const names = namesOf(await this.agent.list('prompts'));
    check('prompts/list', same(names, ['daily_report', 'explore_network', 'investigate_device']), names);
    const messages = await this.agent.prompt('investigate_device', { device: 'sensor-7' });
    check('prompts/get', messages[0].content.text.includes('sensor-7'), messages);
  }

  async streams() {
    let calls = 0;
    const args = { ...this.asked(`select n from ${this.table}`), stream: true };
    this.agent.progress = [];
    const answer = await this.agent.call('sql', args, { onprogress: () => (calls += 1) });
    check('a stream is answered', !answer.isError, answer);
    check('the answer counts the rows', answer.structuredContent.row_count === this.rows, answer);
    check('the client tells of progress', calls > 0);
    const told = this.agent.progress.map(({ progress, message }) => [progress, JSON.parse(message)]);
    const data = told.map(([, message]) => message).filter((message) => message.type === 'data');
    const numbers = data.flatMap((message) => message.rows.map((row) => row.n)).sort((a, b) => a - b);
    check(`${data.length} messages have all rows`, same(numbers, numbersTo(this.rows)), `${numbers.length} rows`);
    check('at most a hundred rows at once', data.every((message) => message.rows.length <= 100));
    check('the last says that it was all', told.at(-1)[1].type === 'complete', told.at(-1));
    const grows = told.every(([done], at) => at === 0 || told[at - 1][0] < done);
    check('progress grows', grows, told.map(([done]) => done));
  }

  // The long queries that run.
  async running() {
    const answer = await this.agent.call('job_status', {});
    const isLong = (job) => job.status === 'Running' && job.sql.includes('a.n + b.n');
    const jobs = answer.structuredContent.result.filter(isLong);
    return jobs.length ? jobs : undefined;
  }

  async isIdle() {
    return !(await this.running());
  }

  // A query that runs, and its number, once it does.
  async begun(args, options) {
    const call = { answer: this.agent.call('sql', args, options).catch((error) => error) };
    call.answer.then((answer) => (call.ended = answer));
    const jobs = await until('the query', () => call.ended ?? this.running());
    if (call.ended) throw new Failed(`the query does not run: ${JSON.stringify(call.ended)}`);
    return { ...call, job: Number(jobs[0].job) };
  }

  async cancels() {
    const args = this.asked(endless(this.table));
    const stop = new AbortController();
    const cancelled = await this.begun(args, { signal: stop.signal });
    check('a long query runs', true);
    stop.abort('enough');
    check('the client hears of it', (await cancelled.answer) instanceof Error, 'an answer');
    await until('its end', () => this.isIdle());
    check('a cancelled call ends its query', true);

    const { job, answer } = await this.begun(args);
    const stopped = await this.agent.call('cancel_job', { job });
    check('cancel_job answers', !stopped.isError, stopped);
    check('the stopped query says so', (await answer).isError === true, await answer);
    await until('its end', () => this.isIdle());
  }

  async errors() {
    const refused = await this.agent.call('no_such_tool', {}).catch((error) => error);
    check('an unknown tool is refused', refused.code === -32602, String(refused));
    let said = await this.failure('sql', { database: 7, query: 'select 1' });
    check('wrong arguments are all named', ['database', 'query', 'sql'].every((word) => said.includes(word)), said);
    said = await this.failure('sql', this.asked(`select n from ${this.table.slice(0, -1)}`));
    check('a near table is named', said.includes(this.table), said);
    said = await this.failure('sql', this.asked(`select nn from ${this.table}`));
    check('the columns are named', said.includes('device_name'), said);
    said = await this.failure('fetch_rows', { cursor: '0'.repeat(32) });
    check('an unknown cursor is refused in words', said.includes('cursor'), said);
    for (const write of writes(this.table)) {
      said = await this.failure('sql', this.asked(write));
      check(`refused: ${write}`, !said.includes('internal'), said);
    }
    const [page] = await this.page('sql', this.asked(`select count(*) from ${this.table}`));
    check('no row is gone', same(page.rows, [[this.rows]]), page);
  }

  asked(sql) {
    return { database: this.database, sql };
  }

  async failure(tool, args) {
    const answer = await this.agent.call(tool, args);
    if (answer.isError !== true) check(`${tool} fails`, false, answer);
    return textOf(answer);
  }

  async reloads() {
    const shipped = readFileSync(this.toolsFile, 'utf8');
    const watching = await this.agent.watch([]);
    writeFileSync(this.toolsFile, shipped.replace('\ntoolsets:', () => `${NEW_TOOL}\ntoolsets:`));
    await this.told(watching.events, [...TOOLS, 'rows_of_device'].sort());
    check('a change of the file is told, and the new tool is there', true);
    const args = { database: this.database, table: this.table, device: 'sensor-3' };
    const [page] = await this.page('rows_of_device', args);
    check('the new tool works', same(page.rows, [[this.rows / 10]]), page);
    writeFileSync(this.toolsFile, shipped);
    await this.told(watching.events, TOOLS);
    check('a tool that is taken away is gone', true);
    await watching.end();
  }

  // Lists the tools whenever a change of them is told, until they are the expected ones.
  async told(events, expected) {
    let names;
    while (!same(names, expected)) {
      const event = await events.next();
      if (!event) throw new Failed(`no change is told after ${PATIENCE_MS} ms, the tools are ${names}`);
      if (event === 'tools') names = namesOf(await this.agent.list('tools'));
    }
  }
}

// Walks with the agent that a function opens, with the settings of the first argument.
export async function run(open) {
  const settings = JSON.parse(process.argv[2]);
  let agent;
  let code = 0;
  try {
    agent = await open(settings);
    await new Walk(agent, settings).whole();
  } catch (error) {
    console.log('   FAILED', error instanceof Failed ? error.message : error);
    code = 1;
  }
  await agent?.close();
  process.exit(code);
}
