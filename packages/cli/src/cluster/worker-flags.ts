import type { FlagName, Flags } from '../flags/flags.ts'
import { flagTable } from '../flags/table.ts'
import { UsageError } from '../usage-error.ts'

/** @throws UsageError for a flag that only the worker can heed: its sessions have what it was started with. */
export function refuseFlagsOfWorker(flags: Flags, heeded: readonly FlagName[]): void {
  // True: the keys of `Flags` are the names.
  const [name] = (Object.keys(flags) as FlagName[]).filter((each) => !heeded.includes(each))
  if (name !== undefined)
    throw new UsageError(
      `${flagTable[name].names[0]} cannot be combined with --cluster: permissions and servers are set where the worker starts (halting serve).`,
    )
}
