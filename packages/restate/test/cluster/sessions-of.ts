import { readFileSync, writeFileSync } from 'node:fs'
import type { SessionStatus } from '../../src/service/status.ts'
import { until } from './programs.ts'
import { callAt, type Cluster } from './server.ts'

/** Sessions of a cluster as other programs see them: by the engine's addresses. */
export class SessionsOf {
  readonly #cluster: Pick<Cluster, 'call'>

  constructor(cluster: Pick<Cluster, 'call'>) {
    this.#cluster = cluster
  }

  async prompt(session: string, content = 'Go.'): Promise<void> {
    const request = { id: `prompt-${session}`, request: { type: 'prompt', content }, opening: {} }
    await this.#cluster.call(`halting_session/${session}/request`, request)
  }

  async status(session: string): Promise<SessionStatus> {
    // The answer of the object of a session.
    return (await this.#cluster.call(`halting_session/${session}/status`)) as SessionStatus
  }

  /** The text of all its records. */
  async records(session: string): Promise<string> {
    return JSON.stringify(await this.#cluster.call(`halting_session/${session}/records`, 0))
  }

  /** Waits for its end. */
  async over(session: string, reason = 'completed'): Promise<void> {
    let last: SessionStatus | undefined
    await until(
      async () => {
        last = await this.status(session)
        return last.state === 'idle' && last.reason === reason
      },
      () => `The session ${session} does not come to its end: ${JSON.stringify(last)}`,
    )
  }

  /** Waits for a call that waits for an answer; returns the call's id. */
  async asks(session: string): Promise<string> {
    let last: SessionStatus | undefined
    await until(
      async () => {
        last = await this.status(session)
        return last.state === 'requires_action'
      },
      () => `No call of the session ${session} waits: ${JSON.stringify(last)}`,
    )
    return last?.questions[0]?.callId ?? ''
  }
}

/**
 * A model that is scripted by the last message, so that it continues in another process. First it calls Bash with the first of these commands, and then with the next. Then it
 * answers "All done."; if a call was denied or its outcome is unknown, it answers with that. Returns the path for `--script`.
 */
export function writeScript(path: string, ...commands: readonly string[]): string {
  const last = `did ${commands.length - 1}.`
  const calls = commands.map((command, index) => ({
    ...(index > 0 && { when: `did ${index - 1}.` }),
    content: [{ type: 'tool_use', name: 'Bash', input: { command: `${command}; echo 'did ${index}.'` } }],
  }))
  const endings = [
    { when: last, content: 'All done.' },
    { when: unknownOutcome, content: 'One is unknown.' },
    { when: 'said no', content: 'One is denied.' },
  ]
  writeFileSync(path, JSON.stringify({ replies: [...calls, ...endings] }))
  return path
}

/** What the model reads about a call that was running when its process was lost. */
export const unknownOutcome = 'The outcome of this call is unknown'

/** The lines that commands wrote into a file, which count their effects. */
export function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

/** Calls one address, such as that of a load balancer, and retries while nobody answers. */
export function callsAt(url: string): Pick<Cluster, 'call'> {
  return { call: (path, body) => callAt(() => url, path, body) }
}
