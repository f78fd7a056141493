// Reminders of guards.

const repeating = 'You are repeating the same tool calls with the same results. '
const change = 'Otherwise try something else, or explain what blocks you. If nothing changes, the run ends.'

/** Before a run that repeats itself ends, where no tool waits. */
export const noProgressNudge: string =
  repeating + 'If you are waiting for something, wait longer inside one call, for example with `sleep 60`. ' + change

/**
 * The same where a tool waits: `waitTool` is its name, or undefined where there is none. With a name of four letters, as `Wait` is, it is as long as
 * `noProgressNudge`: what-if estimates the tokens of one of them.
 */
export function noProgressReminder(waitTool: string | undefined): string {
  if (waitTool === undefined) return noProgressNudge
  return `${repeating}If you are waiting for something, call ${waitTool} instead: it returns as soon as it has happened. ${change}`
}
