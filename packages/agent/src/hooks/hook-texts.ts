// Texts of user hooks for the model, and the question of a prompt hook.

/** A text that a hook adds to the conversation. */
export const hookContext = (event: string, text: string): string => `${event} hook: ${text}`

// If a hook gives no reason.

export const blockedByHook = 'A hook blocked this.'
export const stoppedByHook = 'A hook stopped the run.'
export const refusedByHook = 'A hook refused this command.'
export const inputNotChangeable = 'A hook tried to change this command, which is not possible here.'
export const hookNotRun = (why: string): string => `A hook did not run: ${why}`
export const notConfined = (why: string): string => `the sandbox cannot confine it: ${why}`

/** Replaces a prompt that a hook blocked. */
export const promptErased = 'A hook removed this prompt.'
export const promptBlocked = (reason: string): string =>
  `A hook blocked the prompt${reason === '' ? '.' : `: ${reason}`}`

export const textCut = '\n[... cut]'

/** Precedes the prompt of a hook of type `prompt`. */
export const promptHookQuestion = `You are a hook of a coding agent: inspect one event and decide whether it may proceed.
Answer with one JSON object and nothing else: {"ok": true}, or {"ok": false, "reason": "why not"}.`
export const refusedWithoutReason = 'A hook decided that this may not proceed.'
