import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

// Checks every message on the wire against the schema of the protocol's library.

export type Message = { readonly [field: string]: unknown }

interface Definition {
  readonly 'x-method'?: string
  readonly 'x-side'?: string
}

const path = createRequire(import.meta.url).resolve('@agentclientprotocol/sdk/schema/v1/schema.json')
// True: the content of the file.
const schema = JSON.parse(readFileSync(path, 'utf8')) as { readonly $defs: { readonly [name: string]: Definition } }
// Formats for numbers of a bit width are the schema's own.
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema(schema, 'acp')

const compiled = new Map<string, ValidateFunction>()

/** What is wrong with a value of a definition; undefined if it is valid. */
export function fits(name: string, value: unknown): string | undefined {
  const check = compiled.get(name) ?? ajv.compile({ $ref: `acp#/$defs/${name}` })
  compiled.set(name, check)
  return check(value) ? undefined : `${name}: ${ajv.errorsText(check.errors)} in ${JSON.stringify(value)}`
}

/** The definition for a method, such as `PromptRequest`. */
function definitionOf(method: string, kind: 'Request' | 'Response' | 'Notification'): string | undefined {
  return Object.entries(schema.$defs).find(([name, about]) => about['x-method'] === method && name.endsWith(kind))?.[0]
}

export interface Wire {
  /** All messages, in order. */
  readonly said: readonly { readonly from: 'agent' | 'client'; readonly message: Message }[]
  /** Violations of the schema, or of the order of requests and answers. */
  readonly problems: readonly string[]
  see(from: 'agent' | 'client', message: Message): void
  /** Requests of the client without an answer. */
  readonly unanswered: readonly string[]
}

/** Checks every message of a connection. */
export function watchWire(): Wire {
  const said: { from: 'agent' | 'client'; message: Message }[] = []
  const problems: string[] = []
  /** Methods of unanswered requests, by sender and ID. */
  const open = new Map<string, string>()
  const check = (definition: string | undefined, value: unknown, what: string): void => {
    const problem = definition === undefined ? `${what} is in no schema` : fits(definition, value)
    if (problem !== undefined) problems.push(problem)
  }
  return {
    said,
    problems,
    get unanswered() {
      return [...open].filter(([key]) => key.startsWith('client ')).map(([, method]) => method)
    },
    see(from, message) {
      said.push({ from, message })
      if (message['jsonrpc'] !== '2.0') problems.push(`no version: ${JSON.stringify(message)}`)
      const { id, method, params, result, error } = message
      if (typeof method === 'string') {
        const kind = id === undefined ? 'Notification' : 'Request'
        check(definitionOf(method, kind), params, `${kind} ${method}`)
        if (id !== undefined) open.set(`${from} ${JSON.stringify(id)}`, method)
        return
      }
      const key = `${from === 'agent' ? 'client' : 'agent'} ${JSON.stringify(id)}`
      const asked = open.get(key)
      open.delete(key)
      if (asked === undefined) problems.push(`an answer to nothing: ${JSON.stringify(message)}`)
      else if (error === undefined) check(definitionOf(asked, 'Response'), result, `Response ${asked}`)
      else check('Error', error, 'Error')
    },
  }
}

/** The updates of a session in order. */
export function updatesIn({ said }: Pick<Wire, 'said'>, sessionId?: string): readonly Message[] {
  return said.flatMap(({ message }) => {
    if (message['method'] !== 'session/update') return []
    // True: each was checked against the schema.
    const params = message['params'] as { readonly sessionId: string; readonly update: Message }
    return sessionId === undefined || params.sessionId === sessionId ? [params.update] : []
  })
}

/** Calls that neither completed nor failed, and other errors in the reports of calls. */
export function callProblems(updates: readonly Message[]): readonly string[] {
  const problems: string[] = []
  const status = new Map<unknown, unknown>()
  for (const update of updates) {
    const id = update['toolCallId']
    if (update['sessionUpdate'] === 'tool_call') {
      if (status.has(id) && isOpen(status.get(id))) problems.push(`reported twice: ${String(id)}`)
      status.set(id, update['status'])
    }
    if (update['sessionUpdate'] !== 'tool_call_update') continue
    if (!status.has(id)) problems.push(`not reported: ${String(id)}`)
    const next = update['status'] ?? status.get(id)
    if (!isOpen(status.get(id)) && isOpen(next)) problems.push(`began again: ${String(id)}`)
    if (status.has(id) && !isOpen(status.get(id))) problems.push(`reported after its end: ${String(id)}`)
    status.set(id, next)
  }
  for (const [id, last] of status) if (isOpen(last)) problems.push(`left ${String(last)}: ${String(id)}`)
  return problems
}

function isOpen(status: unknown): boolean {
  return status === 'pending' || status === 'in_progress'
}
