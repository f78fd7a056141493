// Background commands and agents: results of Bash, TaskOutput and TaskStop, and how a command ended.
import type { HasTool } from './available-tools.ts'

export const unknownTaskId = (id: string, known: string): string =>
  `There is no task ${id}. ${known === '' ? 'No task was started.' : `Known tasks: ${known}.`}`
export const earlierTask = (id: string): string =>
  `${id} was started by an earlier process of this session, which has ended. It cannot be reached any more.`

/** @param atEnd what happens to the command when the run ends; undefined if the model is not notified of its end */
export function startedInBackground(
  id: string,
  atEnd: 'wait' | 'stop' | 'keep' | undefined,
  who: 'main' | 'agent',
  has: HasTool,
): string {
  const notice = atEnd === undefined ? '' : who === 'agent' ? noticeOfAgent : notices[atEnd]
  const controls = [
    ...(has('TaskOutput') ? ['TaskOutput to read its output'] : []),
    ...(has('TaskStop') ? ['TaskStop to stop it'] : []),
  ]
  return `Started in the background as ${id}.${notice}${controls.length === 0 ? '' : ` Use ${controls.join(', ')}.`}`
}

const noticeOfAgent =
  ' It continues after you finish, and the main conversation is notified when it ends. Stop it when you no longer need it.'

const notices = {
  wait: ' You are notified when it ends. The run waits for it: stop it when you no longer need it.',
  stop: ' You are notified when it ends. It is stopped when the run ends.',
  keep: ' You are notified when it ends. It continues after the run ends.',
} as const

// TaskOutput.

export const stillRunning = 'Still running.'
export const stoppedByTool = 'Stopped by TaskStop.'
export const taskNotStarted = (why: string | undefined): string => `Could not be started: ${why ?? 'unknown error'}`
export const taskExited = (code: number | null): string => `Ended with exit code ${code}.`
export const taskKilled = (signal: string | undefined): string => `Ended by ${signal ?? 'a signal'}.`
export const noOutputYet = '(no output yet)'
export const agentWorking = 'Still working.'
export const agentEnded = 'Ended.'
export const resultFollows = 'You receive its result with the notice that it ended.'

// TaskStop.

export const alreadyEnded = (id: string): string => `${id} had already ended.`
export const taskStopped = (id: string, what: string): string => `Stopped ${id} (${what}).`

// The notice that a command ended. Commands are quoted and shortened.

type How =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'not started'; readonly detail: string | undefined }
  | { readonly kind: 'exited'; readonly exitCode: number | null }
  | { readonly kind: 'killed'; readonly detail: string | undefined }

export const commandEnded = (command: string, how: How, has: HasTool): string =>
  `The command ${command} ${endText(how)}.${has('TaskOutput') ? ' Use TaskOutput to read its output.' : ''}`

function endText(how: How): string {
  switch (how.kind) {
    case 'stopped':
      return 'was stopped'
    case 'not started':
      return `could not be started: ${how.detail ?? 'unknown error'}`
    case 'exited':
      return `ended with exit code ${how.exitCode}`
    case 'killed':
      return `was ended by ${how.detail ?? 'a signal'}`
  }
}

// Commands that are left when a run ends, for users and for the next run.

export const leftCommand = (id: string, command: string): string => `${id} ${command}`
/** @param output the file that its output goes to */
export const leftRunningCommand = (id: string, command: string, group: number, output: string | undefined): string =>
  `${id} ${command} (process group ${group}${output === undefined ? '' : `, output to ${output}`})`
export const leftChildren = (command: string): string => `processes started by ${command}`
export const leftRunningChildren = (command: string, group: number): string =>
  `processes started by ${command} (process group ${group})`
export const leftDetached = (command: string, processes: string): string =>
  `processes detached by ${command} (${processes})`
/** @param ids numbers of processes, joined by commas */
export const processNumbers = (count: number, ids: string): string => `${count === 1 ? 'process' : 'processes'} ${ids}`

// The state of a command of an earlier process.

export const earlierRuns = (group: number | string): string =>
  `It is still running as process group ${group}, and its output may be lost. To end it: kill -- -${group}`
export const earlierEnded = 'It has ended since; its exit code is unknown.'
export const earlierDetached = (ids: string): string => `Processes that it detached are still running: ${ids}.`
