import { readOptionFile } from './option-file.ts'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { SessionAgents } from '../agents/session-agents.ts'
import { sessionOptions } from '../coding-agent/session-options.ts'
import { type Model, type QueryOptions, ConfigurationError, type JsonObject, type OutputSchema } from '@halting/core'
import { createKeyRedactor } from '@halting/models'
import type { Briefing } from './read-briefing.ts'
import { contextOf } from './context.ts'
import { limitsOf } from './limits.ts'
import { RunLimit } from './run-limit.ts'
import type { Models } from './models.ts'
import { trustInit } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'
import { isJsonObject, messageOf } from '@halting/core/adapters'

/**
 * The choices as options of a query.
 * @throws ConfigurationError for unreadable files and invalid values.
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

/** Whether a model is not yet among those of a run. */
function isAnother(model: Model | undefined, others: readonly (Model | undefined)[]): model is Model {
  return model !== undefined && others.every((other) => other?.id !== model.id)
}

async function promptFile(
  name: 'systemPromptFile' | 'appendSystemPromptFile',
  { [name]: path }: SessionChoices,
  { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>,
): Promise<string | undefined> {
  return path === undefined ? undefined : readOptionFile(path, cwd, `${nameOf(name)} takes a file`)
}

/**
 * Reads the schema of answers, from JSON or from a file.
 * @throws ConfigurationError if it is not a valid JSON Schema.
 */
async function readAnswerSchema(
  source: string,
  { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>,
): Promise<OutputSchema> {
  const isSchema = source.trimStart().startsWith('{')
  const name = nameOf('jsonSchema')
  const takes = `${name} takes a JSON Schema or a file that contains one`
  const schema = parseSchema(isSchema ? source : await readOptionFile(source, cwd, takes), name)
  // Loaded on demand: it is the largest part of this program.
  const { jsonSchemaOutput } = await import('../json-schema/index.ts')
  try {
    return jsonSchemaOutput(schema)
  } catch (thrown) {
    throw new ConfigurationError(`${name}: ${messageOf(thrown)}`)
  }
}

function parseSchema(text: string, name: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    throw new ConfigurationError(`${name} is not valid JSON: ${messageOf(thrown)}.`)
  }
  if (!isJsonObject(value)) throw new ConfigurationError(`${name} must be a JSON object, such as {"type":"object"}.`)
  return value
}
