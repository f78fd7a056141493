/** Names of the conventions for prefixes of model names. */
const providers: { readonly [prefix: string]: string } = {
  anthropic: 'anthropic',
  openai: 'openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
  groq: 'groq',
  deepseek: 'deepseek',
  perplexity: 'perplexity',
}

/** Model names without a prefix. */
const families: readonly (readonly [begins: RegExp, provider: string])[] = [
  [/^claude-/, 'anthropic'],
  [/^(?:gpt-|chatgpt-|o\d)/, 'openai'],
  [/^gemini-/, 'gcp.gemini'],
  [/^(?:mistral|codestral|devstral|magistral)/, 'mistral_ai'],
  [/^grok-/, 'x_ai'],
  [/^deepseek-/, 'deepseek'],
]

/**
 * Returns the provider of a model in the terms of the conventions, by the model name. An unknown prefix is returned
 * unchanged; `unknown` without a prefix.
 */
export function providerOf(model: string): string {
  const slash = model.indexOf('/')
  if (slash > 0) {
    const prefix = model.slice(0, slash)
    return Object.hasOwn(providers, prefix) ? (providers[prefix] ?? prefix) : prefix
  }
  return families.find(([begins]) => begins.test(model))?.[1] ?? 'unknown'
}
