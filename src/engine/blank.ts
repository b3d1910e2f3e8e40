/** Whether a text shows nothing to whoever reads it. Pure. */

/** White space, controls, and what is drawn as nothing: zero-width spaces and joiners, marks of direction, fillers. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u

/** True for a text that nobody could see: such an answer is none. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text)
}
