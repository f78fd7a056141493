import { UsageError } from '../usage-error.ts'
import { type Command, commandTable } from './command-table.ts'
import type { AnyFlag, FlagOwner } from './flag-kinds.ts'
import type { FlagName, Flags } from './flags.ts'
import { flagTable } from './table.ts'

// The keys of the table are the names of all flags.
const rows = Object.entries(flagTable) as readonly (readonly [FlagName, AnyFlag])[]

/** Whether a flag with these owners belongs to this command. */
export function isFlagOf(command: Command | undefined, owners: readonly FlagOwner[]): boolean {
  return owners.some((owner) => owner === command || owner.startsWith(`${command} `))
}

/** The flags of a command in addition to those of runs, in the order of the table. */
export function commandFlags(command: Command): readonly AnyFlag[] {
  return rows
    .filter(([name, row]) => name === 'help' || row.alsoOf?.includes(command) || isFlagOf(command, row.commands ?? []))
    .map(([, row]) => row)
}

/** The flags of runs, which some commands accept too. */
export function flagsForRuns(): readonly AnyFlag[] {
  return rows.filter(([, { commands }]) => commands === undefined).map(([, row]) => row)
}

/** @throws UsageError for a flag that belongs to other commands */
export function refuseFlagsOfOthers(flags: Flags, command: Command | undefined): void {
  for (const [name, { names, commands, insteadForRuns }] of rows) {
    if (flags[name] === undefined || commands === undefined || isFlagOf(command, commands)) continue
    const instead = insteadForRuns === undefined ? '' : ` ${insteadForRuns}`
    throw new UsageError(`${names[0]} belongs to halting ${wordList(commands)}.${instead}`)
  }
}

/** @throws UsageError for a limit or a goal of runs where no run starts, so that nobody relies on it */
export function refuseLimits(flags: Flags, command: Command | undefined): void {
  if (command === undefined || commandTable[command].takes !== 'own flags') return
  const { readsRecords } = commandTable[command]
  for (const [name, { names, topic, alsoOf }] of rows) {
    if (flags[name] === undefined || alsoOf?.includes(command) === true) continue
    const isLimit = alsoOf?.includes('what-if') === true && (topic === 'limits' || topic === 'goals')
    if (topic === 'goals' && !isLimit)
      throw new UsageError(`halting ${command} starts no run, so ${names[0]} has no effect. Use it with halting -p.`)
    if (!isLimit || readsRecords !== true) continue
    throw new UsageError(
      `${names[0]} has no effect with halting ${command}. To see where other limits would have stopped a session, use halting what-if.`,
    )
  }
}

/** @throws UsageError for a flag that needs a host, or a stream of messages */
export function refuseFlagsThatNeed(needed: 'host' | 'stream', flags: Flags): void {
  for (const [name, { names, needs }] of rows) {
    // A switch that is off is accepted without a stream, but not without a host.
    if (needs !== needed || flags[name] === undefined || (needed === 'stream' && flags[name] === false)) continue
    const flag = names.find((each) => each.startsWith('--'))
    throw new UsageError(
      needed === 'host'
        ? `${flag} needs --input-format stream-json.`
        : `${flag} needs --output-format stream-json (and that --verbose).`,
    )
  }
}

function wordList(names: readonly string[]): string {
  const last = names.at(-1) ?? ''
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`
}
