import type { Flags } from '../flags/flags.ts'

/** For a run that ended where the window does, since nothing was to make room. */
export function letItCompact({ autocompact }: Flags): string {
  // Without the flag it was a variable that switched it off, and the flag goes before that.
  return autocompact === 'off'
    ? 'Remove --autocompact off, so that the conversation is compacted, or split the task.'
    : 'Add --autocompact auto, which overrides DISABLE_AUTO_COMPACT, or split the task.'
}

/** For a run that made room again and again. Its message says what to do; here are the flags for it. */
export function moreRoom({ model, autocompact, contextWindow }: Flags): string {
  const ways = [
    ...(autocompact === undefined || autocompact === 'auto' ? [] : ['raise --autocompact']),
    ...(contextWindow === undefined ? [] : ['raise --context-window, if the model accepts more']),
    ...(model === undefined ? ['choose such a model with --model'] : []),
  ].join(', or ')
  return ways === '' ? '' : `${ways[0]?.toUpperCase()}${ways.slice(1)}.`
}
