import { UsageError } from '../usage-error.ts'
import type { Command } from './commands.ts'
import type { FlagName, Flags } from './flags.ts'
import { flagTable } from './table.ts'

/** A command, or a part of it that alone takes the flag: `cluster dev`. */
type Owner = Command | `${Command} ${string}`

const looking = ['sessions', 'report', 'inspect'] as const
const ofOthers = ['what-if', 'report', 'inspect'] as const

/** Flags that some commands alone take, in the order in which a refusal names these. */
const owners = {
  json: [
    ...([
      'check',
      'cluster budget',
      'config',
      'context',
      'doctor',
      'memory',
      'models',
      'permissions',
      'replay',
    ] as const),
    ...(['report', 'rewind', 'sessions', 'setup', 'trust', 'undo', 'what-if', 'why'] as const),
  ],
  list: ['trust'],
  revoke: ['trust'],
  keep: ['demo'],
  redo: ['undo'],
  conversationOnly: ['rewind'],
  filesOnly: ['rewind'],
  message: ['deny'],
  noProgress: ['what-if'],
  suggest: ['what-if'],
  since: ['report'],
  until: ['report'],
  by: ['report'],
  open: ['inspect'],
  yes: ['cluster dev', 'sessions', 'setup', 'trust', 'undo', 'rewind'],
  dryRun: ['setup', 'undo', 'rewind'],
  all: looking,
  format: ['sessions', 'report'],
  output: looking,
  force: looking,
  claudeCode: ofOthers,
  codex: ofOthers,
  skipChanged: ['undo', 'rewind'],
  server: ['cluster dev'],
  restate: ['serve'],
  register: ['serve'],
  folders: ['serve'],
  payloads: ['serve'],
  identityKey: ['serve'],
  grace: ['serve'],
  takeOver: ['serve'],
  allowedTenants: ['serve', 'cluster dev'],
  maxConcurrentRequests: ['serve', 'cluster dev'],
  requestsPerMinute: ['serve', 'cluster dev'],
  tokensPerMinute: ['serve', 'cluster dev'],
} as const satisfies { readonly [name in FlagName]?: readonly Owner[] }

type OwnedFlag = keyof typeof owners

// The keys of a record are those of its type.
const ownedFlags = Object.keys(owners) as readonly OwnedFlag[]

function takes(command: Command | undefined, name: OwnedFlag): boolean {
  const names: readonly Owner[] = owners[name]
  return names.some((owner) => owner === command || owner.startsWith(`${command} `))
}

/** The flags that a command takes and others do not. */
export function flagsOwnedBy(command: Command): readonly FlagName[] {
  return ownedFlags.filter((name) => takes(command, name))
}

/** @throws UsageError for a flag that is of other commands. */
export function refuseFlagsOfOthers(flags: Flags, command: Command | undefined): void {
  for (const name of ownedFlags) {
    if (flags[name] === undefined || takes(command, name)) continue
    const [flag] = flagTable[name].names
    const instead = name === 'json' ? ' A run takes --output-format json.' : ''
    throw new UsageError(`${flag} belongs to halting ${inWords(owners[name])}.${instead}`)
  }
}

function inWords(names: readonly string[]): string {
  const last = names.at(-1) ?? ''
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`
}
