/** Models of OpenAI that chat completions do not have, by their names. */
export function hasResponsesAlone(model: string): boolean {
  return (
    /^(gpt-\d|o\d)[\w.]*(-[\w.]+)*-(pro|codex|deep-research)(-|$)/.test(model) || /^(codex-|computer-use-)/.test(model)
  )
}
