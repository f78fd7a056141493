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
 * The single table of flags. Parsing, help, error messages and the commands that accept a flag follow from its rows. A
 * flag without a row does not compile.
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
