/**
 * Whether a service with this list has the model. Lists contain versions, and services accept shorter names for the
 * newest one: `claude-sonnet-4-5` for `claude-sonnet-4-5-20250929`, `qwen3` for `qwen3:latest`.
 */
export function isListed(model: string, listed: readonly string[]): boolean {
  // Variants of OpenRouter (`:free`) are listed under the base model or separately.
  const names = [model, model.replace(/:(?:free|nitro|floor|online|extended|thinking|exacto)$/, '')]
  return listed.some((own) => {
    // One service prefixes each name with a folder.
    const name = own.replace(/^models\//, '')
    return names.includes(name) || isVersionOf(name, model)
  })
}

/** llama.cpp always answers with the model that it was started with, for any requested name. */
export function answersToAnyName(model: string): boolean {
  return model.startsWith('llamacpp/')
}

function isVersionOf(listed: string, model: string): boolean {
  if (listed === `${model}:latest`) return true
  const family = model.replace(/-(?:latest|0)$/, '')
  return listed.startsWith(`${family}-`) && /^(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/.test(listed.slice(family.length + 1))
}
