import { readFile } from 'node:fs/promises'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { Model } from '@halting/core'
import { anthropic } from '../anthropic/anthropic.ts'
import type { AnthropicOptions } from '../anthropic/anthropic.ts'
import { parseScript, parseScriptText } from './parse-script.ts'
import type { Script } from './script.ts'
import { startScriptedServer } from './server.ts'
import type { ScriptedServer, ScriptedServerOptions } from './server.ts'

/** Options of a scripted model over HTTP. */
export interface ScriptedModelOptions extends ScriptedServerOptions {
  /** In place of what the script says. */
  readonly model?: string | undefined
  /** Further options of the adapter: timeouts, the default cap. */
  readonly adapter?: Partial<Omit<AnthropicOptions, 'model' | 'baseUrl'>>
}

/** A model together with the scripted server that answers it. */
export interface ScriptedModel {
  /** The model. */
  readonly model: Model
  /** The server, with the requests that it received. */
  readonly server: ScriptedServer
  /** Stops the server. */
  close(): Promise<void>
}

/**
 * A model that answers from a script over real HTTP: a server on this machine, and the Anthropic adapter that asks it.
 * @throws ConfigurationError for a script that is not right.
 */
export async function scriptedModel(script: unknown, options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const parsed = parseScript(script, options.source)
  const server = await startScriptedServer(parsed, options)
  const model = options.model ?? parsed.model ?? 'scripted'
  return {
    model: anthropic({ webSearch: parsed.webSearch === true, ...options.adapter, model, baseUrl: server.url }),
    server,
    close: () => server.close(),
  }
}

/**
 * A script from a file.
 * @throws ConfigurationError when it cannot be read or is not right.
 */
export async function readScript(path: string): Promise<Script> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (thrown) {
    throw new ConfigurationError(`The script cannot be read: ${messageOf(thrown)}.`)
  }
  return parseScriptText(text, path)
}
