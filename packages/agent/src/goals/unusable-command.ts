import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import { type Environment, isInsideAny } from '@halting/policy/files'
import { plainCommands } from '@halting/policy/shell'
import * as texts from './check-texts.ts'

/** Names that bash runs itself. */
const builtins: ReadonlySet<string> = new Set(
  (
    '. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec exit export ' +
    'false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt ' +
    'source suspend test times trap true type typeset ulimit umask unalias unset wait time coproc function if then else elif fi case esac for select ' +
    'while until do done in { } ! [['
  ).split(' '),
)

/**
 * Syntax with which a line may succeed although its first program is missing: `a; b`, `a || b`, `a & b`, `! a`, `if
 * a`. Quoted characters match too, which errs on the side of uncertain.
 */
const maySucceedAnyway = /[;\n]|\|\||(?:^|[^&>])&(?![&>])|^\s*(?:!|if|while|until|case|for|\(|\{)/

// Spec R-GOAL-31.
/**
 * Returns why a command cannot be a check, as far as is known before it runs: its first word is not a builtin of bash,
 * not a program of the search path, and not a path in the folder. Returns undefined for a usable command, and whenever
 * the result is uncertain.
 */
export function unusableCommand(command: string, cwd: string, env: Environment): string | undefined {
  if (command.trim() === '') return texts.emptyCommand
  if (!isProgramFound('bash', cwd, env)) return texts.noBashForGoals
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) return texts.missingFolder(cwd)
  const { commands, isCertain } = plainCommands(command)
  const [first] = commands
  if (!isCertain || first === undefined || maySucceedAnyway.test(command)) return undefined
  const name = [first.words[0], first.inner[0]].find((word) => word !== undefined && !isFound(word, cwd, env))
  if (name === undefined) return undefined
  // The word may be an alias or a function that the environment defines.
  if (env['BASH_ENV'] !== undefined || env[`BASH_FUNC_${name}%%`] !== undefined) return undefined
  return name.includes('/') ? texts.missingPath(command, name, cwd) : texts.missingProgram(command, name, cwd)
}

function isFound(name: string, cwd: string, env: Environment): boolean {
  if (builtins.has(name)) return true
  if (!name.includes('/')) return isProgramFound(name, cwd, env)
  const path = resolve(cwd, name)
  // The agent may create files in the folder.
  return isInsideAny(path, [cwd]) || statSync(path, { throwIfNoEntry: false }) !== undefined
}

function isProgramFound(name: string, cwd: string, env: Environment): boolean {
  const path = env['PATH']
  // Without PATH, bash uses a default search path.
  if (path === undefined) return true
  return path.split(delimiter).some((folder) => isProgram(resolve(cwd, folder, name)))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
