import { ConfigurationError } from '@halting/core'

const prefix = 'ai-sdk:'

/** A provider package of the AI SDK, and the provider's name of a model. */
export interface AiSdkName {
  /** Name of the package. */
  readonly package: string
  /** Name of the model at the provider. */
  readonly model: string
}

/** Whether a model name has the prefix of provider packages. */
export function isAiSdkName(name: string): boolean {
  return name.startsWith(prefix)
}

/** The name of a model of a provider package, in the form of `--model`. */
export function aiSdkNameOf({ package: packageName, model }: AiSdkName): string {
  return `${prefix}${packageName}/${model}`
}

/**
 * Parses `ai-sdk:PACKAGE/MODEL`. The package may have a scope, and the model name may contain slashes and colons.
 * @throws ConfigurationError for a package that is not a plain npm name, and for a missing model name.
 */
export function parseAiSdkName(name: string): AiSdkName {
  const rest = name.slice(prefix.length)
  const parts = rest.split('/')
  const count = rest.startsWith('@') ? 2 : 1
  const packageName = parts.slice(0, count).join('/')
  const model = parts.slice(count).join('/')
  if (!isPackageName(packageName)) {
    throw new ConfigurationError(
      `"${name}" does not name a package. Write ai-sdk:PACKAGE/MODEL with the name of an npm package, such as ` +
        'ai-sdk:@ai-sdk/amazon-bedrock/anthropic.claude-sonnet-4-5: paths and URLs are not accepted.',
    )
  }
  if (model.trim() === '' || model !== model.trim()) {
    throw new ConfigurationError(
      `"${name}" does not name a model. Write ai-sdk:${packageName}/MODEL with the name that the provider has for it.`,
    )
  }
  return { package: packageName, model }
}

/** Whether `parseAiSdkName` accepts the name. */
export function isAiSdkNameWhole(name: string): boolean {
  try {
    parseAiSdkName(name)
    return true
  } catch {
    return false
  }
}

/** Whether the text is a plain npm package name: letters, digits, dots, dashes and underscores, with an optional scope. Never a path. */
export function isPackageName(text: string): boolean {
  return text.length <= 214 && /^(?:@[\w~-][\w.~-]*\/)?[\w~-][\w.~-]*$/.test(text) && text !== 'node_modules'
}
