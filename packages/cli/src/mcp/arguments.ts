import { type McpScope, mcpScopes } from '@halting/policy'
import { nearest } from '../flags/nearest.ts'
import { UsageError } from '../usage-error.ts'

/** The arguments after `halting mcp`. They have their own parser, since arguments of a server's command look like flags, too. */
export interface McpArguments {
  readonly words: readonly string[]
  readonly scope?: McpScope
  readonly transport?: 'stdio' | 'http' | 'sse'
  readonly env: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly json: boolean
  readonly trust: boolean
  readonly help: boolean
  /** For `login`: whether no browser is opened. */
  readonly noBrowser: boolean
  readonly clientId?: string
  readonly callbackPort?: number
}

const transports = ['stdio', 'http', 'sse'] as const

interface FoundFlags {
  scope?: McpScope
  transport?: (typeof transports)[number]
  env: Record<string, string>
  headers: Record<string, string>
  json: boolean
  trust: boolean
  help: boolean
  noBrowser: boolean
  clientId?: string
  callbackPort?: number
}

/** Reads the arguments after `halting mcp`. @throws UsageError for an unknown flag, and for an invalid or missing value */
export function readMcpArguments(argv: readonly string[]): McpArguments {
  const rest = [...argv]
  const words: string[] = []
  const found: FoundFlags = { env: {}, headers: {}, json: false, help: false, trust: false, noBrowser: false }
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === '--') {
      words.push(...rest.splice(0))
      break
    }
    if (argument.startsWith('-')) {
      readFlag(argument, rest, found)
      continue
    }
    words.push(argument)
    // Everything after the command of a server belongs to that command.
    if (words[0] === 'add' && words.length === 3 && !isAddress(argument)) {
      if (rest[0] === '--') rest.shift()
      words.push(...rest.splice(0))
    }
  }
  return { ...found, words }
}

/** Reads one flag into `found`; a value that is not inline is taken from `rest`. */
function readFlag(argument: string, rest: string[], found: FoundFlags): void {
  const [, flag = argument, inline] = /^(--[^=]+)=(.*)$/s.exec(argument) ?? []
  const value = (): string => {
    const text = inline ?? rest.shift()
    if (text === undefined) throw new UsageError(`${flag} needs a value.`)
    return text
  }
  switch (flag) {
    case '-s':
    case '--scope':
      found.scope = oneOf(flag, value(), mcpScopes)
      return
    case '-t':
    case '--transport':
      found.transport = oneOf(flag, value(), transports)
      return
    case '-e':
    case '--env':
      return addPair(flag, value(), '=', found.env)
    case '-H':
    case '--header':
      return addPair(flag, value(), ':', found.headers)
    case '--json':
      found.json = true
      return
    case '-h':
    case '--help':
      found.help = true
      return
    case '--trust':
      found.trust = true
      return
    case '--no-browser':
      found.noBrowser = true
      return
    case '--client-id':
      found.clientId = filled(flag, value())
      return
    case '--callback-port':
      found.callbackPort = port(flag, value())
      return
    default: {
      const meant = nearest(flag, flags)
      throw new UsageError(
        `halting mcp has no flag ${flag}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Put arguments of the server after --.`,
      )
    }
  }
}

const flags = [
  '--scope',
  '--transport',
  '--env',
  '--header',
  '--json',
  '--trust',
  '--no-browser',
  '--client-id',
  '--callback-port',
] as const

function filled(flag: string, given: string): string {
  if (given.trim() === '') throw new UsageError(`${flag} needs a value.`)
  return given.trim()
}

function port(flag: string, given: string): number {
  const number = Number(given)
  if (/^\d+$/.test(given) && number >= 1 && number <= 65_535) return number
  throw new UsageError(`${flag} takes a port, 1 to 65535, not "${given}".`)
}

export function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text)
}

function oneOf<Choice extends string>(flag: string, given: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((each) => each === given)
  if (choice !== undefined) return choice
  throw new UsageError(`${flag} takes ${choices.join(', ')}, not "${given}".`)
}

function addPair(flag: string, given: string, mark: '=' | ':', into: Record<string, string>): void {
  const at = given.indexOf(mark)
  const name = given.slice(0, at).trim()
  // The value may be a key, so the message does not repeat it.
  if (at < 1 || name === '') throw new UsageError(`${flag} takes NAME${mark === '=' ? '=VALUE' : ': VALUE'}.`)
  into[name] = mark === ':' ? given.slice(at + 1).trim() : given.slice(at + 1)
}
