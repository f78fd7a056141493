import { givenFile } from './given-file.ts'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { SessionAgents } from '../agents/session-agents.ts'
import { sessionOptions } from '../coding-agent/session-options.ts'
import type { Model, QueryOptions } from '@halting/core'
import { createKeyRedactor } from '@halting/models'
import type { Briefing } from './read-briefing.ts'
import { contextOf } from './context.ts'
import { limitsOf } from './limits.ts'
import { RunLimit } from './run-limit.ts'
import type { Models } from './models.ts'
import { readAnswerSchema } from './output-schema.ts'
import { trustInit } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

/**
 * The choices as options of a query.
 * @throws ConfigurationError for files that cannot be read and values that cannot be served.
 */
export async function queryOptionsOf(
  choices: SessionChoices,
  ports: Pick<SessionPorts, 'env' | 'cwd' | 'nameOf' | 'wordNotice'>,
  toolbox: Toolbox,
  models: Omit<Models, 'close' | 'warnings'>,
  briefing?: Briefing,
  agents?: SessionAgents,
): Promise<QueryOptions> {
  const { env, cwd } = ports
  const { permissions, sessionId } = toolbox
  const { model, fallbackModel, compactModel, smallModel, prices, apiKeySource, loaded } = models
  const { settings } = loaded
  const output = choices.jsonSchema === undefined ? undefined : await readAnswerSchema(choices.jsonSchema, ports)
  const system = choices.systemPrompt ?? (await promptFile('systemPromptFile', choices, ports))
  toolbox.workspace.smallModel = smallModel ?? compactModel
  const appended = choices.appendSystemPrompt ?? (await promptFile('appendSystemPromptFile', choices, ports))
  return {
    model,
    ...(fallbackModel === undefined ? {} : { fallbackModel }),
    ...(isAnother(smallModel, [model, fallbackModel]) && { models: [smallModel] }),
    ...(await sessionOptions({
      ...toolbox,
      agentTool: agents?.tool,
      briefing,
      toolProfile: settings.toolProfile,
      redacts: settings.redactSecrets === true,
      redactKeys: createKeyRedactor(env),
      system,
      appended,
    })),
    prices,
    ...limitsOf(choices, env),
    ...new RunLimit(loaded, models, agents).bounds,
    limitReminders: choices.limitReminders ?? settings.limitReminders ?? true,
    ...contextOf(choices, env, toolbox, compactModel),
    ...(output === undefined ? {} : { output }),
    sessionId,
    includePartialMessages: choices.includePartialMessages ?? false,
    includeHookEvents: choices.includeHookEvents ?? false,
    init: {
      cwd,
      permissionMode: permissions.mode,
      apiKeySource,
      ...trustInit(loaded, ports),
      ...briefing?.init,
      ...(agents !== undefined && { agents: agents.names }),
    },
  }
}

/** A model stands once among those of a run. */
function isAnother(model: Model | undefined, others: readonly (Model | undefined)[]): model is Model {
  return model !== undefined && others.every((other) => other?.id !== model.id)
}

async function promptFile(
  name: 'systemPromptFile' | 'appendSystemPromptFile',
  { [name]: path }: SessionChoices,
  { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>,
): Promise<string | undefined> {
  return path === undefined ? undefined : givenFile(path, cwd, `${nameOf(name)} takes a file`)
}
