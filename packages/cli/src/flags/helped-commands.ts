import type { Command } from './commands.ts'
import type { FlagName } from './flags.ts'
import { flagsOwnedBy } from './owners.ts'
import { flagTable } from './table.ts'

// Which flags the help of a command shows. Loaded for a help alone.

const ofPrices = ['settings', 'settingSources'] as const
const ofClusters = ['cluster', 'admin'] as const

/** Commands whose help is their own. Others take the flags of runs, and have the help of the program. */
export type HelpedCommand = Exclude<
  Command,
  | 'acp'
  | 'check'
  | 'cluster'
  | 'config'
  | 'context'
  | 'doctor'
  | 'init'
  | 'mcp'
  | 'memory'
  | 'permissions'
  | 'serve'
  | 'setup'
>

/** What they take beside the flags that they own. */
const alsoTaken: { readonly [command in HelpedCommand]: readonly FlagName[] } = {
  approve: ofClusters,
  deny: ofClusters,
  demo: [],
  inspect: [...ofPrices, ...ofClusters, 'port'],
  models: [],
  replay: ofPrices,
  report: [...ofPrices, ...ofClusters],
  rewind: [],
  sessions: ofClusters,
  trust: ['settingSources'],
  undo: [],
  'what-if': [...ofPrices, 'maxTurns', 'maxBudgetUsd', 'maxTokens', 'maxDuration', ...ofClusters],
  why: [...ofPrices, ...ofClusters],
}

export function hasOwnHelp(command: Command | undefined): command is HelpedCommand {
  return command !== undefined && command in alsoTaken
}

/** All flags of a command, in the order of the table. */
export function flagsOf(command: HelpedCommand): readonly FlagName[] {
  const taken = new Set<FlagName>([...alsoTaken[command], ...flagsOwnedBy(command), 'help'])
  // The keys of the table are the names of all flags.
  return (Object.keys(flagTable) as readonly FlagName[]).filter((name) => taken.has(name))
}
