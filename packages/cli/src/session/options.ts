import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createPrepareContent, imageAdvice } from '@halting/agent'
import { isAgentTool, messageOf } from '@halting/core/adapters'
import type { QueryOptions } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import type { SessionAgents } from './agents.ts'
import type { Briefing } from './read-briefing.ts'
import { contextOf } from './context.ts'
import { limitsOf } from './limits.ts'
import type { Models } from './models.ts'
import { readAnswerSchema } from './output-schema.ts'
import { trustInit } from './run-settings.ts'
import { surroundingsOf } from './surroundings.ts'
import { systemPrompt } from './system-prompt.ts'
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
  const { workspace, permissions, sessionId, resultFiles } = toolbox
  const { model, fallbackModel, compactModel, prices, apiKeySource, loaded } = models
  const { settings } = loaded
  const output = flags.jsonSchema === undefined ? undefined : await readAnswerSchema(flags.jsonSchema)
  const leaves = briefing?.tools(toolbox.tools) ?? toolbox.tools
  const told = agents === undefined ? leaves : [...leaves, agents.tool]
  const tools = settings.redactSecrets === true ? await redacted({ ...toolbox, tools: told }) : told
  const { redact = (shown: string) => shown } = workspace
  const names = tools.map(({ name }) => name)
  const ours = (): string => systemPrompt({ ...surroundingsOf(toolbox), tools: names })
  const own = flags.systemPrompt ?? (await promptFile('--system-prompt-file', flags.systemPromptFile, cwd)) ?? ours()
  const appended =
    flags.appendSystemPrompt ?? (await promptFile('--append-system-prompt-file', flags.appendSystemPromptFile, cwd))
  return {
    model,
    ...(fallbackModel === undefined ? {} : { fallbackModel }),
    system: [own, redact(briefing?.system ?? ''), appended]
      .filter((part) => part !== undefined && part !== '')
      .join('\n\n'),
    tools,
    ...(briefing !== undefined && { hooks: briefing.hooks, userContext: redactedEntries(briefing.entries, redact) }),
    permissions,
    prices,
    largeResults: resultFiles,
    ...limitsOf(flags, env),
    prepareContent: createPrepareContent(workspace.fitImage),
    mediaLimits: { advice: imageAdvice },
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

function redactedEntries(entries: Briefing['entries'], redact: (shown: string) => string): Briefing['entries'] {
  return Object.fromEntries(Object.entries(entries).map(([name, text]) => [name, redact(text)]))
}

/** Nothing that a tool shows has a secret of a known form: not to the model, not to hooks, not on disk. */
async function redacted({ tools, workspace }: Toolbox): Promise<Toolbox['tools']> {
  const { redactSecrets, redactedTool } = await import('./redaction.ts')
  workspace.redact = redactSecrets
  return tools.map((tool) => (isAgentTool(tool) ? tool : redactedTool(tool, redactSecrets)))
}

async function promptFile(flag: string, path: string | undefined, cwd: string): Promise<string | undefined> {
  if (path === undefined) return undefined
  try {
    return await readFile(resolve(cwd, path), 'utf8')
  } catch (thrown) {
    throw new UsageError(`${flag} takes a file that can be read; "${path}" cannot: ${messageOf(thrown)}.`)
  }
}
