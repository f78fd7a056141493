import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { dirname, delimiter, join } from 'node:path'
import {
  type Options,
  query,
  type Query,
  type SDKMessage,
  type SDKResultMessage,
  type SDKUserMessage,
} from '@anthropic-ai/claude-agent-sdk'
import { type SeenRequest, startScriptedServer } from '@halting/models/scripted'
import { afterEach, inject } from 'vitest'
import { here, programPath } from '../../support/program.ts'

// The unchanged official SDK starts the program as its executable; a script on this machine is the model.

export interface QueryOutcome {
  readonly messages: readonly SDKMessage[]
  readonly results: readonly SDKResultMessage[]
  /** The error that the `for await` loop of the host threw. */
  readonly thrown: string | undefined
  readonly stderr: string
  /** Requests to the model. */
  readonly requests: readonly SeenRequest[]
  readonly cwd: string
}

export interface QueryInput {
  readonly options?: Options
  /** Called with every message, and with the query that it came from. */
  readonly during?: (message: SDKMessage, query: Query) => void | Promise<void>
  /** Called once the query exists. */
  readonly begun?: (query: Query) => void | Promise<void>
}

const folders: string[] = []

/** Removes the folders that `sessionFolder` made after each test. */
export function removeFoldersAfterEach(): void {
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
}

/** Makes an empty folder for a session. */
export function sessionFolder(): string {
  const folder = realpathSync(mkdtempSync(join(here(), 'sdk-')))
  folders.push(folder)
  return folder
}

export const model = 'claude-sonnet-5-5'

/** Runs one query to its end. */
export async function runQuery(
  prompt: string | AsyncIterable<SDKUserMessage>,
  replies: readonly unknown[],
  { options = {}, during, begun }: QueryInput = {},
): Promise<QueryOutcome> {
  const service = await startScriptedServer({ replies })
  const cwd = options.cwd ?? sessionFolder()
  const messages: SDKMessage[] = []
  let stderr = ''
  let thrown: string | undefined
  const running = query({
    prompt,
    options: {
      pathToClaudeCodeExecutable: programPath(),
      settingSources: [],
      model,
      ...options,
      cwd,
      env: {
        PATH: [process.env['PATH'], dirname(process.execPath)].join(delimiter),
        HOME: here(),
        TMPDIR: here(),
        XDG_CACHE_HOME: inject('codeCache'),
        HALTING_CONFIG_DIR: join(cwd, '.config-of-person'),
        ANTHROPIC_API_KEY: 'k',
        ANTHROPIC_BASE_URL: service.url,
        HALTING_MCP_WAIT_MS: '60000',
        // Without it the SDK does not forward state messages.
        CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
        ...options.env,
      },
      stderr: (text) => void (stderr += text),
    },
  })
  try {
    const beginning = begun?.(running)
    for await (const message of running) {
      messages.push(message)
      await during?.(message, running)
    }
    await beginning
  } catch (error) {
    thrown = error instanceof Error ? error.message : String(error)
  } finally {
    running.close()
    await service.close()
  }
  const results = messages.filter((message) => message.type === 'result')
  return { messages, results, thrown, stderr, requests: service.requests, cwd }
}

/** The text of the last result, if it is a success. */
export function answerOf({ results }: QueryOutcome): string | undefined {
  const last = results.at(-1)
  return last?.subtype === 'success' ? last.result : undefined
}

/** The tool results in the last request to the model, as texts. */
export function toolResults({ requests }: QueryOutcome): readonly string[] {
  const { messages } = requests.at(-1)?.body ?? {}
  if (!Array.isArray(messages)) return []
  // The program sends requests of the Messages API.
  return (messages as readonly { readonly content: unknown }[]).flatMap(({ content }) =>
    Array.isArray(content)
      ? (content as readonly { readonly type: string; readonly content?: unknown }[])
          .filter(({ type }) => type === 'tool_result')
          .map((block) => textOf(block.content))
      : [],
  )
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content)
    ? (content as readonly { readonly text?: string }[]).map(({ text = '' }) => text).join('')
    : ''
}

/** Names of the tools in a request to the model. */
export function shownTools({ requests }: QueryOutcome, at = -1): readonly string[] {
  const { tools } = requests.at(at)?.body ?? {}
  return Array.isArray(tools) ? (tools as readonly { readonly name: string }[]).map(({ name }) => name) : []
}

/** The system prompt in the first request to the model, as one text. */
export function systemPromptOf({ requests }: QueryOutcome): string {
  return textOf(requests[0]?.body['system'] ?? '')
}

/** User messages that the test adds one after another. */
export class PromptStream implements AsyncIterable<SDKUserMessage> {
  readonly #waiting: SDKUserMessage[] = []
  #isOver = false
  #wake: () => void = () => undefined

  constructor(...texts: readonly string[]) {
    for (const text of texts) this.push(text)
  }

  push(text: string, more: Partial<SDKUserMessage> = {}): void {
    this.#waiting.push({
      type: 'user',
      message: { role: 'user', content: text },
      parent_tool_use_id: null,
      ...more,
    })
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<SDKUserMessage> {
    for (;;) {
      const next = this.#waiting.shift()
      if (next !== undefined) yield next
      else if (this.#isOver) return
      else await new Promise<void>((resolve) => void (this.#wake = resolve))
    }
  }
}

export const use = (name: string, input: object): object => ({ content: [{ type: 'tool_use', name, input }] })
