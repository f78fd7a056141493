import type { TaskLeft } from '../verification/background.ts'
import type { Eventually } from '../values/eventually.ts'
import type { AgentEnd, CameToEnd } from '../state/agent-figures.ts'
import type { OpenAgent } from '../state/open-agent.ts'
import type { AgentsInBackground } from '../tools/tool.ts'

/** Subagents that work beside the main loop, in this process. */
export interface AgentsBeside extends AgentsInBackground {
  /** Nothing where it works already. */
  begin(open: OpenAgent): void
  readonly isAnyWorking: boolean
  /** Whether one has ended that is not entered yet. */
  readonly hasEnded: boolean
  /** Those that ended and are not entered yet. @throws what broke one of them, which breaks the run. */
  ended(): readonly CameToEnd[]
  onEnd(listener: () => void): () => void
  /** Stops those that still work, and waits for their ends. */
  stopAll(): Eventually<undefined>
  /** What is made of those that are not entered when the run ends. */
  left(): readonly { readonly left: TaskLeft; readonly end: AgentEnd }[]
}
