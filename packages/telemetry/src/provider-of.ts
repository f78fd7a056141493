/** Names of the conventions for the prefixes that models are named by. */
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

/** Beginnings of names that stand without a prefix. */
const families: readonly (readonly [begins: RegExp, provider: string])[] = [
  [/^claude-/, 'anthropic'],
  [/^(?:gpt-|chatgpt-|o\d)/, 'openai'],
  [/^gemini-/, 'gcp.gemini'],
  [/^(?:mistral|codestral|devstral|magistral)/, 'mistral_ai'],
  [/^grok-/, 'x_ai'],
  [/^deepseek-/, 'deepseek'],
]

/** Who serves a model, as the conventions name it: by its name. A prefix that they do not know stands for itself; `unknown` where nothing says it. */
export function providerOf(model: string): string {
  const slash = model.indexOf('/')
  if (slash > 0) {
    const prefix = model.slice(0, slash)
    return Object.hasOwn(providers, prefix) ? (providers[prefix] ?? prefix) : prefix
  }
  return families.find(([begins]) => begins.test(model))?.[1] ?? 'unknown'
}
