// What slash commands, skills and mentions add to a prompt.

// Commands and skills.

export const skillFolder = (folder: string): string => `The files of this skill are in ${folder}.\n\n`
/** Arguments that have no placeholder in the text. */
export const extraArguments = (argumentText: string): string => `\n\nARGUMENTS: ${argumentText}`
/** Replaces the output of a command in the text. */
export const commandNotRun = (why: string): string => `(not run: ${why})`
export const untrustedFolder = 'the folder is not trusted'
export const agentWithoutBash = (agent: string): string => `Agent ${agent} does not have Bash.`
export const noRuleDecides = 'No permission rule allows it, and nobody can be asked.'

// Mentions (@path).

export const mentionedFile = (path: string, lines?: { readonly first: number; readonly last: number }): string =>
  `File ${path}${lines === undefined ? '' : `, lines ${lines.first} to ${lines.last}`} (mentioned by the user):`
export const mentionedFolder = (path: string): string => `Folder ${path} (mentioned by the user):`
export const mentionCut = '\n[Cut here. Use Read for the rest.]'
export const emptyFolder = '(empty)'
export const moreNames = (count: number): string => `(and ${count} more)`
export const unreadNames = (most: number): string => `(and more: these are among the first ${most} names of the folder)`
export const unreadableFolder = (code: string): string => `The folder cannot be read (${code}).`
