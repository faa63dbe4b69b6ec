// The walk with the second line of the official packages: the revision without sessions, where the
// transport has it.

import { Client, ProtocolError, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Events, noteProgress, PATIENCE_MS, Refused, run } from './walk.mjs';

const TRANSPORTS = {
  stdio: ({ command, args, cwd }) => new StdioClientTransport({ command, args, cwd }),
  http: ({ url }) => new StreamableHTTPClientTransport(new URL(url)),
  sse: ({ url }) => new SSEClientTransport(new URL(url)),
};

class Agent {
  #client;
  #events = new Events();
  progress = [];

  async connect(settings) {
    // The transport that was given up has no revision without sessions to ask for.
    const mode = settings.transport === 'sse' ? 'legacy' : 'auto';
    const client = new Client({ name: 'edgemere-walk', version: '1.0.0' }, { versionNegotiation: { mode } });
    client.setNotificationHandler('notifications/tools/list_changed', () => this.#events.put('tools'));
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => this.#events.put(params.uri));
    const transport = TRANSPORTS[settings.transport](settings);
    await client.connect(transport);
    noteProgress(transport, this);
    this.#client = client;
    this.protocol = client.getNegotiatedProtocolVersion();
    this.isModern = client.getProtocolEra() === 'modern';
    // There is no ping in the revision without sessions.
    this.canPing = !this.isModern;
    this.server = client.getServerVersion();
    this.instructions = client.getInstructions();
  }

  ping() {
    return this.#client.ping();
  }

  async list(what) {
    const client = this.#client;
    const ask = {
      tools: () => client.listTools(),
      resources: () => client.listResources(),
      resourceTemplates: () => client.listResourceTemplates(),
      prompts: () => client.listPrompts(),
    }[what];
    return (await ask())[what];
  }

  call(name, args, options = {}) {
    const params = { name, arguments: args };
    return refusals(this.#client.callTool(params, { timeout: PATIENCE_MS, ...options }));
  }

  async read(uri) {
    return (await refusals(this.#client.readResource({ uri }))).contents;
  }

  async prompt(name, args) {
    return (await this.#client.getPrompt({ name, arguments: args })).messages;
  }

  async complete(uri, name, value, given) {
    const ref = { type: 'ref/resource', uri };
    const { completion } = await this.#client.complete({ ref, argument: { name, value }, context: { arguments: given } });
    return completion.values;
  }

  async watch(uris) {
    this.#events = new Events();
    if (this.isModern) {
      const filter = uris.length ? { resourceSubscriptions: uris } : { toolsListChanged: true };
      const subscription = await this.#client.listen(filter);
      return { events: this.#events, end: () => subscription.close() };
    }
    for (const uri of uris) await this.#client.subscribeResource({ uri });
    const end = async () => {
      for (const uri of uris) await this.#client.unsubscribeResource({ uri });
    };
    return { events: this.#events, end };
  }

  close() {
    return this.#client.close();
  }
}

async function refusals(answer) {
  try {
    return await answer;
  } catch (error) {
    throw ProtocolError.isInstance(error) ? new Refused(error.code, error.message) : error;
  }
}

await run(async (settings) => {
  const agent = new Agent();
  await agent.connect(settings);
  return agent;
});
