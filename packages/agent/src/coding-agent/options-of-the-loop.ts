import { withFormerName } from '../agents/former-name.ts'
import type { AgentConfiguration } from '@halting/core/compat'
import type { AnswerSchema, CodingAgentOptions } from './options.ts'

/** What is no option of the loop has been used up by then. */
export function optionsOfTheLoop<Schema extends AnswerSchema>(
  options: CodingAgentOptions<Schema>,
  tools: AgentConfiguration['tools'] = [],
): Partial<AgentConfiguration> {
  const {
    cwd: _cwd,
    model: _model,
    system: _system,
    tools: _tools,
    codingTools: _codingTools,
    toolProfile: _toolProfile,
    appendSystem: _appendSystem,
    outputSchema: _outputSchema,
    settingSources: _settingSources,
    settings: _settings,
    trust: _trust,
    permissionMode: _permissionMode,
    allowedTools: _allowedTools,
    disallowedTools: _disallowedTools,
    additionalDirectories: _additionalDirectories,
    until: _until,
    protect: _protect,
    verification: _verification,
    sandbox: _sandbox,
    ignoreStandingBudgets: _ignoreStandingBudgets,
    background: _background,
    agents: _agents,
    mcpServers: _mcpServers,
    elicit: _elicit,
    sessionId: _sessionId,
    resume: _resume,
    persistSession: _persistSession,
    env: _env,
    onNote: _onNote,
    ...loop
  } = options
  return { ...loop, ...withFormerName(tools, loop.toolAliases) }
}
