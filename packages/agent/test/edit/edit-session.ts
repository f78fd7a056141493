import { AgentState, type PermissionRequest, type ToolContext } from '@halting/core'
import { isJsonObject, textOf } from '@halting/core/adapters'
import { createBashTool, openWorkspace } from '@halting/agent'
import { findNamespaces, type RuleText } from '@halting/policy'
import { bashCall } from '../../../policy/test/judge/support.ts'

/** Whether this machine can confine commands to a workspace. */
export const canConfineEdits: boolean = ((): boolean => {
  const means = process.platform === 'linux' ? findNamespaces(process.env['PATH'] ?? '', []) : undefined
  return means?.kind === 'bubblewrap' && means.hasOwnProc
})()

/** The outcome of a command. */
export interface BashRun {
  readonly decision: 'allow' | 'ask' | 'deny' | 'fail'
  /** Why it asks; empty when it runs. */
  readonly why: string
  /** Its confinement; undefined if it ran unconfined, or not at all. */
  readonly kind: string | undefined
  /** Whether git may write to its folders. */
  readonly writesGit: boolean
  /** Its unchanged output, or what the model reads if it did not start. */
  readonly output: string
  /** What the model reads. */
  readonly text: string
  readonly exitCode: number | null
  /** Milliseconds from the call to its result. */
  readonly ms: number
}

export interface EditSessionOptions {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  /**
   * In `acceptEdits`, confined if no rule covers a command; otherwise each command runs unconfined, whatever the rules
   * say.
   */
  readonly isConfined: boolean
  readonly allow?: readonly RuleText[]
  readonly deny?: readonly RuleText[]
  readonly timeoutMs?: number
}

export interface EditSession {
  /** Decides and runs, like a session. Commands that ask or are denied do not run. */
  readonly run: (command: string, input?: Readonly<Record<string, unknown>>) => Promise<BashRun>
  readonly dispose: () => Promise<void>
}

/** A session of the Bash tool, with real decisions and real confinement. */
export function openEditSession({
  cwd,
  home,
  env,
  isConfined,
  allow,
  deny,
  timeoutMs,
}: EditSessionOptions): EditSession {
  const { workspace, permissions } = openWorkspace({
    places: { cwd, home, env },
    sessionId: 'one',
    settings: isConfined ? {} : { confineJudged: 'off' },
    env,
    whenAsked: 'ask',
    mode: 'acceptEdits',
    confinesEdits: isConfined,
    allow: allow ?? (isConfined ? [] : ['Bash']),
    ...(deny !== undefined && { deny }),
  })
  const bash = createBashTool(workspace)
  let calls = 0
  return {
    async run(command, input = {}) {
      calls += 1
      const callId = `call_${calls}`
      const { call, ...rest } = bashCall(command)
      const request: PermissionRequest = { ...rest, call: { ...call, id: callId, input: { command, ...input } } }
      const decision = await permissions.decide(request)
      const confinement = permissions.confinementOf({ callId, command })
      const kind = confinement?.kind
      const writesGit = confinement?.kind === 'edit' && confinement.writesGit
      if (decision.behavior !== 'allow' && isConfined) {
        const why = 'message' in decision ? (decision.message ?? '') : ''
        return {
          decision: decision.behavior,
          why,
          kind: undefined,
          writesGit,
          output: '',
          text: '',
          exitCode: null,
          ms: 0,
        }
      }
      const start = performance.now()
      const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs }
      const result = await bash.execute({ command, ...timeout, ...input }, contextOf(callId))
      const text = typeof result === 'string' ? result : textOf(result.content)
      const details = typeof result !== 'string' && isJsonObject(result.details) ? result.details : {}
      const { stdout, exitCode } = details
      return {
        decision: 'allow',
        why: '',
        kind,
        writesGit,
        output: typeof stdout === 'string' ? stdout : text,
        text,
        exitCode: typeof exitCode === 'number' ? exitCode : null,
        ms: performance.now() - start,
      }
    },
    dispose: () => workspace.dispose(),
  }
}

function contextOf(callId: string): ToolContext {
  return {
    callId,
    toolName: 'Bash',
    agentType: null,
    signal: new AbortController().signal,
    idempotencyKey: callId,
    state: AgentState.empty(),
    progress: () => undefined,
  }
}
