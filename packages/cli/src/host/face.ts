import type { Program } from '../program.ts'
import type { Frontend } from '../flags/open-session.ts'
import type { LiveSession } from '../flags/open-session.ts'
import { oneLine, told } from '../io/figures.ts'
import type { Control } from './control.ts'
import { HostServers, rulesOfServers } from './host-servers.ts'
import type { Given } from './initialize.ts'

/** What a host gives a session: answers, hooks, servers. */
export interface HostFace {
  readonly face: Frontend
  readonly servers: HostServers
  /** The session is there, and nothing was asked of it yet. */
  begun(live: LiveSession): Promise<void>
}

/** What loads something is loaded where the host gives it, and only there. */
export async function faceOfHost(given: Given, control: Control, program: Program): Promise<HostFace> {
  const { flags, sdkServerConfigs, isInitialized } = given
  const { permissionPromptTool: asked, permissionPrompts } = flags
  const asks = permissionPrompts === 'none' ? undefined : asked
  const answersQuestions = asks === 'stdio'
  const servers = new HostServers(control)
  const hooks = await hooksOf(given, control, program)
  return {
    servers,
    face: {
      answersQuestions,
      // Who answers counts on being asked (spec R-EFRONT-1).
      confinesEdits: asks === undefined,
      verifyDefault: 'off',
      ...(asks !== undefined && !answersQuestions && { permissionTool: asks }),
      ...(hooks !== undefined && { hooks }),
      servers: servers.begin(given),
      // The Python SDK names its own servers there.
      inHost: (name, server) => servers.entry(name, server),
      // Who says nothing but messages answers no questions.
      ...(isInitialized && {
        elicit: async (...question) => (await import('./callbacks.ts')).elicitByHost(control, ...question),
      }),
    },
    async begun({ session, toolbox: { permissions } }) {
      if (answersQuestions) (await import('./questions.ts')).answerByHost(session, control)
      ;(await import('./limit-questions.ts')).answerLimitsByHost(session, control)
      const { ask, deny } = await rulesOfServers(sdkServerConfigs)
      if (deny.length > 0) permissions.addRules('deny', deny)
      if (ask.length > 0) permissions.addRules('ask', ask)
    },
  }
}

async function hooksOf({ hooks }: Given, control: Control, { output }: Program): Promise<Frontend['hooks']> {
  if (hooks === undefined) return undefined
  const { hooksOfHost } = await import('./callbacks.ts')
  const { hooks: read, warnings } = hooksOfHost(hooks, control)
  for (const line of warnings) output.err(told(oneLine(line, 500)))
  return read
}
