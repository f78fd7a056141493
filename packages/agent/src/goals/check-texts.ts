// Checks of goals: how a command ended, and why a result is not evidence. Users read these too.

export const checkBusy = (folder: string, process?: number): string =>
  `The check did not run: another check is still running in ${folder}${process === undefined ? '' : ` (process ${process})`}.`
export const checkInterrupted = 'The check was interrupted before it finished.'
export const checkKilled = (signal: string): string => `The check was ended by ${signal}.`
export const checkNotStarted = (why: string): string => `The check could not be started: ${why}`

// Commands that cannot be a check.

export const emptyCommand = 'The command of the goal is empty. Give one that exits with 0 when the work is done.'
export const noBashForGoals =
  'Goals are checked by bash, which is not in PATH. Install bash, or add its folder to PATH.'
export const missingFolder = (folder: string): string => `The folder of the check does not exist: ${folder}`
export const missingPath = (command: string, path: string, folder: string): string =>
  `The goal \`${command}\` is not a command: ${path} does not exist and is outside of ${folder}. Correct the path.`
export const missingProgram = (command: string, name: string, folder: string): string =>
  `The goal \`${command}\` is not a command: ${name} was not found. Install it, correct the name, or give the path of a file in ${folder}, such as ./${name}.`

// Why a result is not evidence for a judged goal.

export const writtenByModel = 'a model wrote it'
export const repeatsInput = 'it repeats its input'
export const onlyStarted = 'it only reports that a command was started'
export const maybeWrittenByAgent = 'an agent may have written it'
export const ownLines = 'it shows lines of files that this session wrote'
export const ownFile = (path: string): string => `it reads or runs ${path}, which this session wrote`
export const unclearOutput = (why: string): string => `it is unclear what it prints: ${why}`
export const unknownFiles = 'which files it reads is known only when it runs'
export const ownHistory = 'it shows the content of files, some of which this session wrote'
export const ownTree = (folder: string): string =>
  `it shows the content of files in ${folder}, some of which this session wrote`
export const ownBuildFile = (file: string): string => `it runs ${file}, which this session wrote`
export const ownScript = (name: string): string =>
  `it runs the script "${name}" of package.json, which this session wrote`
export const transformsInput = (program: string): string => `${program} transforms what it reads`
export const printsScript = (program: string): string => `${program} prints texts of its script`
export const inlineScript = (program: string): string => `${program} runs a script in the command itself`
export const scriptFromInput = (program: string): string => `${program} runs a script from its input`
export const rearranges = (program: string): string => `${program} may rearrange text of the command`
