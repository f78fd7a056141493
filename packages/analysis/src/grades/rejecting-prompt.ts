/** The beginning of a prompt is where a person says that the last answer was wrong. */
const longestBeginning = 400

// Few and plain, in English: what none of them fits counts as nothing said.
const rejections: readonly RegExp[] = [
  /\b(?:do|does|did|is|are|was|were|has|have)(?:n['’]?t| not) (?:\w+ )?(?:work|fix|help|solve|right|correct|compile|build|done|what i)/,
  /\bstill (?:fail|broken|wrong|not\b|does|do(?:es)?n|is|isn|the same|get|see|happen|crash|error)/,
  /\b(?:that|this|it)(?:['’]s| is| was) (?:wrong|incorrect|broken|not (?:right|correct|working|what))/,
  /\bnot what i (?:asked|wanted|meant|said)/,
  /\b(?:revert|undo|roll back) (?:that|this|it|your|the|all)\b/,
  /\btry (?:it )?again\b/,
  /\byou (?:broke|forgot|missed|ignored|did(?:n['’]?t| not)|have(?:n['’]?t| not))\b/,
  /^(?:no|nope|wrong)\b/,
]

// Spec R-GRADE-6.
/** Whether a prompt says that the answer before it was wrong, as far as a few English words tell. */
export function isRejection(prompt: string): boolean {
  const beginning = prompt.slice(0, longestBeginning).toLowerCase().trimStart()
  return rejections.some((words) => words.test(beginning))
}
