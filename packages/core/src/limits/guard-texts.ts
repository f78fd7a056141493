// Reminders that guards send to the model.

const repeating = 'You are repeating the same tool calls with the same results. '
const change = 'Otherwise try something else, or explain what blocks you. If nothing changes, the run ends.'

/** Sent before a repeating run ends, if no wait tool is offered. */
export const noProgressNudge: string =
  repeating + 'If you are waiting for something, wait longer inside one call, for example with `sleep 60`. ' + change

/**
 * The same if a wait tool is offered. `waitTool` is its name, or undefined without one. With a name of four
 * letters, such as `Wait`, the text is as long as `noProgressNudge`: the what-if analysis estimates the tokens of one of
 * them.
 */
export function noProgressReminder(waitTool: string | undefined): string {
  if (waitTool === undefined) return noProgressNudge
  return `${repeating}If you are waiting for something, call ${waitTool} instead: it returns as soon as it has happened. ${change}`
}

// Reminders that never end a run: repeated failures and repeated answers.

export const failingEditsReminder = (tool: string): string =>
  `${tool} has failed several times in a row. Look at what is there now before you change it again, or change it in another way.`

export const equalErrorsReminder: string =
  'Your calls have failed with the same error several times. Find out why it happens before you go on, try something else, or explain what blocks you.'

export const equalAnswersReminder: string =
  'You have given the same answer several times, and it was sent back each time. Do what is asked for, or explain what blocks you.'

export function tokenTargetReminder(pct: number, used: number, target: number): string {
  const figures = `${used.toLocaleString('en-US')} of the ${target.toLocaleString('en-US')} tokens`
  return `You have used ${figures} (${pct} %) intended for this task. Keep working on it; do not summarize or stop yet.`
}
