import { analyseShell } from './analysis.ts'

/** Whether a command line starts something that it does not wait for, so that it may run on when the line has ended. */
export function runsInBackground(command: string): boolean {
  const { features, commands } = analyseShell(command)
  if (!features.has('background') && !features.has('coproc')) return false
  return !commands.some(({ words: [name] }) => name?.value === 'wait')
}
