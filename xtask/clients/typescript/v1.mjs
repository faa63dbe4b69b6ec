// The walk with the first line of the official packages: revisions with sessions.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  McpError,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Events, noteProgress, PATIENCE_MS, Refused, run } from './walk.mjs';

const TRANSPORTS = {
  stdio: ({ command, args, cwd }) => new StdioClientTransport({ command, args, cwd }),
  http: ({ url }) => new StreamableHTTPClientTransport(new URL(url)),
  sse: ({ url }) => new SSEClientTransport(new URL(url)),
};

class Agent {
  canPing = true;
  #client = new Client({ name: 'edgemere-walk', version: '1.0.0' });
  #events = new Events();
  progress = [];

  async connect(settings) {
    const client = this.#client;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => this.#events.put('tools'));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => this.#events.put(params.uri));
    const transport = TRANSPORTS[settings.transport](settings);
    // What was agreed on is told to the transport alone.
    const agreed = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (version) => {
      this.protocol = version;
      agreed?.(version);
    };
    await client.connect(transport);
    noteProgress(transport, this);
    this.server = client.getServerVersion();
    this.instructions = client.getInstructions();
  }

  ping() {
    return this.#client.ping();
  }

  async list(what) {
    const client = this.#client;
    const ask = {
      tools: (params) => client.listTools(params),
      resources: (params) => client.listResources(params),
      resourceTemplates: (params) => client.listResourceTemplates(params),
      prompts: (params) => client.listPrompts(params),
    }[what];
    const found = [];
    let cursor;
    do {
      const page = await ask(cursor ? { cursor } : {});
      found.push(...page[what]);
      cursor = page.nextCursor;
    } while (cursor);
    return found;
  }

  call(name, args, options = {}) {
    const params = { name, arguments: args };
    return refusals(this.#client.callTool(params, undefined, { timeout: PATIENCE_MS, ...options }));
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
    for (const uri of uris) await this.#client.subscribeResource({ uri });
    this.#events = new Events();
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
    throw error instanceof McpError ? new Refused(error.code, error.message) : error;
  }
}

await run(async (settings) => {
  const agent = new Agent();
  await agent.connect(settings);
  return agent;
});
