import { type SessionAgents, sessionOptions } from '@halting/agent'
import type { Model, QueryOptions } from '@halting/core'
import { createKeyRedactor } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import { givenFile } from '../io/given-file.ts'
import type { Program } from '../program.ts'
import type { Briefing } from './read-briefing.ts'
import { contextOf } from './context.ts'
import { limitsOf } from './limits.ts'
import type { Models } from './models.ts'
import { readAnswerSchema } from './output-schema.ts'
import { trustInit } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

/**
 * What the flags say, as options of a query.
 * @throws UsageError for files that cannot be read and values that cannot be served.
 */
export async function queryOptionsOf(
  flags: Flags,
  { env, cwd }: Pick<Program, 'env' | 'cwd'>,
  toolbox: Toolbox,
  models: Omit<Models, 'close' | 'warnings'>,
  briefing?: Briefing,
  agents?: SessionAgents,
): Promise<QueryOptions> {
  const { permissions, sessionId } = toolbox
  const { model, fallbackModel, compactModel, smallModel, prices, apiKeySource, loaded } = models
  const { settings } = loaded
  const output = flags.jsonSchema === undefined ? undefined : await readAnswerSchema(flags.jsonSchema, cwd)
  const system = flags.systemPrompt ?? (await promptFile('--system-prompt-file', flags.systemPromptFile, cwd))
  toolbox.workspace.smallModel = smallModel ?? compactModel
  const appended =
    flags.appendSystemPrompt ?? (await promptFile('--append-system-prompt-file', flags.appendSystemPromptFile, cwd))
  return {
    model,
    ...(fallbackModel === undefined ? {} : { fallbackModel }),
    ...(isAnother(smallModel, [model, fallbackModel]) && { models: [smallModel] }),
    ...(await sessionOptions({
      ...toolbox,
      agentTool: agents?.tool,
      briefing,
      redacts: settings.redactSecrets === true,
      redactKeys: createKeyRedactor(env),
      system,
      appended,
    })),
    prices,
    ...limitsOf(flags, env),
    ...contextOf(flags, env, toolbox, compactModel),
    ...(output === undefined ? {} : { output }),
    sessionId,
    includePartialMessages: flags.includePartialMessages ?? false,
    includeHookEvents: flags.includeHookEvents ?? false,
    init: {
      cwd,
      permissionMode: permissions.mode,
      apiKeySource,
      ...trustInit(loaded),
      ...briefing?.init,
      ...(agents !== undefined && { agents: agents.names }),
    },
  }
}

/** A model stands once among those of a run. */
function isAnother(model: Model | undefined, others: readonly (Model | undefined)[]): model is Model {
  return model !== undefined && others.every((other) => other?.id !== model.id)
}

async function promptFile(flag: string, path: string | undefined, cwd: string): Promise<string | undefined> {
  return path === undefined ? undefined : givenFile(path, cwd, `${flag} takes a file`)
}
