import { ConfigurationError, type Goal, type GoalFiles, type GoalSpec, judgedGoal } from '@halting/core'
import type { Workspace } from '../tools/workspace.ts'
import { acceptCheckChanges } from './check-changes.ts'
import { commandGoal } from './command-goal.ts'
import { evidenceRules } from './evidence-rules.ts'
import { goalFiles } from './goal-files.ts'
import { checkProtectedGlobs, protectRules } from './protected-globs.ts'
import { unusableCommand } from './unusable-command.ts'

// Loaded only if a session has goals or protected files.

/** Inputs for the goals of a session. */
export interface SessionGoalsOptions {
  readonly workspace: Workspace
  /** Globs of files that the agent must not change. */
  readonly protect: readonly string[]
  /** Names of goals that are not commands; the program checks these goals itself. */
  readonly own: ReadonlySet<string>
  /** Whether a model wrote the results of this tool. Such results are not evidence for a judge. */
  readonly asksModel?: (toolName: string) => boolean
}

/** How the goals of a session are checked. */
export interface SessionGoals {
  /** The goal for a recorded specification. */
  readonly named: (spec: GoalSpec) => Goal
  readonly files: GoalFiles
}

export function sessionGoals({ workspace, protect, own, asksModel }: SessionGoalsOptions): SessionGoals {
  const { cwd, env } = workspace
  const writable = protectRules(protect, cwd).patterns
  const noEvidence = evidenceRules({ cwd, ...(asksModel !== undefined && { asksModel }) })
  return {
    named({ name, judged }) {
      if (judged === true) return judgedGoal(name, { noEvidence })
      return commandGoal(name, {
        cwd,
        env,
        writable,
        sandbox: () => workspace.sandbox,
        redact: (text) => workspace.redact?.(text) ?? text,
      })
    },
    files: goalFiles({
      cwd,
      env,
      protect,
      folderOf: ({ name, judged }) => (judged === true || own.has(name) ? undefined : cwd),
      onChangedByChecks: (changes) => acceptCheckChanges(workspace, changes),
    }),
  }
}

/**
 * Rejects, before anything is spent, goals and globs that cannot work: a missing command, or globs without matches.
 * @throws ConfigurationError
 */
export async function checkGoals(
  commands: readonly string[],
  { workspace, protect }: Pick<SessionGoalsOptions, 'workspace' | 'protect'>,
): Promise<void> {
  const { cwd, env } = workspace
  for (const command of commands) {
    const why = unusableCommand(command, cwd, env)
    if (why !== undefined) throw new ConfigurationError(why)
  }
  await checkProtectedGlobs(protect, cwd, env)
}
