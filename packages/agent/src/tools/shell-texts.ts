// Results of the Bash tool.

export const noOutput = '(no output)'
export const notRunInterrupted = 'Interrupted before the command started. It did not run.'
export const commandTooLong = 'The command is too long to start. Write it to a file, and run that file.'
export const notConfinable = 'The command had to run confined, but nothing can confine it any more. It did not run.'

// How the command ended.

export const commandInterrupted = 'Interrupted: the command and all its processes were stopped before it was done.'
export const commandTimedOut = (ms: number): string =>
  `Timed out after ${ms} ms: the command and all its processes were stopped. Set a higher timeout, or "run_in_background": true.`
export const bashNotStarted = (why: string | undefined): string =>
  `bash could not be started: ${why ?? 'unknown error'}`
export const shellKilled = (signal: string | undefined): string => `The shell was ended by ${signal ?? 'a signal'}.`
/** @param answer the meaning of a code that is not a failure, such as "no match" */
export const exitCode = (code: number | null, answer: string | undefined): string =>
  answer === undefined ? `Exit code ${code}` : `Exit code ${code}: ${answer}.`

export const timeoutLowered = (ms: number): string => `The timeout was lowered to the maximum of ${ms} ms.`
export const ranConfined =
  'The command ran confined: read-only, without network, and without files outside the project and the system. An allow rule lets it run unconfined.'

// About a command that ran confined to the workspace.

export const ranInWorkspace =
  'The command ran confined: no network; files can be written only in the workspace and /tmp, not in .git or agent settings; the home folder has only tools and caches. If that is why it failed, call again with "unconfined": true, and the person is asked.'
export const notConfined =
  'The command could not be confined, so it did not run. Call again with "unconfined": true, and the person is asked.'
/** @param paths one or more, joined */
export const takenBack = (paths: string): string =>
  `Moved away, because it could change what programs run later: ${paths}. The command ran confined, where such files cannot be created.`
export const notConfinedNow =
  'The command did not run: it was allowed to run confined only, and nothing confines it now. Call it again, so that it is decided anew.'
export const notTakenBack = (why: string): string =>
  `The command ran confined, but what it created where settings are read could not be checked: ${why}.`

// Output that is shortened.

export const outputLeftOut = (characters: number): string => `[... ${characters} characters left out ...]`
export const tailComesFirst = 'The end of the output:'
export const headComesLast = (characters: number): string =>
  `[... ${characters} characters left out before that. The beginning of the output: ...]`
export const spoolCut = (bytes: number): string => `[Only the first ${bytes} bytes were stored.]`

// The working directory.

export const backIn = (directory: string): string => `The next command starts in ${directory} again.`
export const outside = (directory: string, cwd: string): string =>
  `${directory} is outside the directories of this session, so the working directory is ${cwd} again.`
/** @param gone a sentence about the working directory */
export const outsideAndGone = (directory: string, gone: string): string =>
  `${directory} is outside the directories of this session. ${gone}`
export const directoryGone = (directory: string, now: string): string =>
  `The working directory ${directory} no longer exists. It is ${now} now.`
export const allDirectoriesGone = (cwd: string): string =>
  `The working directory ${cwd} no longer exists. Begin the next command with cd and an absolute path.`
export const notRunGone = (directory: string): string =>
  `The working directory ${directory} no longer exists, so the command did not run.`
/** A sentence after others. */
export const directoryNow = (cwd: string): string => ` The working directory is ${cwd} now.`
/** A sentence after others. */
export const targetMissing = (target: string): string => ` The directory ${target} does not exist.`
/** A sentence after others. @param near quoted for bash */
export const beginWithCd = (near: string): string =>
  ` Begin each command with an existing directory: cd ${near} && ... Commands start in the working directory again once it exists.`
