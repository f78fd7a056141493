import type { FlagFor } from './flag-kinds.ts'
import type { FlagName, Flags } from './flags.ts'
import { outputFlags } from './rows/output.ts'
import { modelFlags } from './rows/model.ts'
import { sessionsFlags } from './rows/sessions.ts'
import { limitsFlags } from './rows/limits.ts'
import { goalsFlags } from './rows/goals.ts'
import { toolsFlags } from './rows/tools.ts'
import { clusterFlags } from './rows/cluster.ts'
import { programFlags } from './rows/program.ts'

/**
 * The one table of flags, with a row for each: parsing, help, which commands take it, and what is said of a typing error follow from it. A flag without a row does not
 * compile.
 */
export const flagTable: { readonly [Name in FlagName]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  ...outputFlags,
  ...modelFlags,
  ...sessionsFlags,
  ...limitsFlags,
  ...goalsFlags,
  ...toolsFlags,
  ...clusterFlags,
  ...programFlags,
}
