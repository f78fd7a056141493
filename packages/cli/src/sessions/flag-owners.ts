import { UsageError } from '../usage-error.ts'

/** @throws UsageError for a flag that belongs to another subcommand */
export function refuseFlagsOf(owner: string, given: { readonly [flag: string]: unknown }): void {
  const [flag] = Object.keys(given).filter((name) => given[name] !== undefined)
  if (flag !== undefined) throw new UsageError(`${flag} belongs to halting sessions ${owner}.`)
}
