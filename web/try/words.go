package try

// passages are what a newcomer types to enroll. Each takes a hundred keys and more, which is what a session has to hold.
var passages = []string{
	"The quick answer is rarely the careful one. When somebody asks me to move money in a hurry, I stop, breathe and read it all again.",
	"My keyboard knows none of my secrets, yet my hands have habits: some letters come fast, others wait, and a few I always get wrong.",
	"Tomorrow I will sit here again with the same coffee and the same ten fingers. If the rhythm is mine, the door opens without a word.",
}

// figure is one measured rate of docs/accuracy.md; a test holds the two equal.
type figure struct {
	Rate string
	What string
}

var figures = []figure{
	{"94.4 %", "of the time the person who enrolled is confirmed or likely, from the third frame on"},
	{"96.0 %", "of the time somebody else is not confirmed"},
	{"0.10 %", "of the time somebody else is confirmed as the person: this is why a proof names its assurance, and why a passkey stands behind it"},
	{"90 %", "of take-overs are noticed within two frames, typically within 11 s of typing"},
}

var limits = []string{
	"Measured on recordings of 28 people writing essays on several days, in English on QWERTY keyboards. You are not one of them, and one sitting tells less than three days do.",
	"Nobody in the recordings changed their keyboard. On another one, expect much worse.",
	"Whoever has recorded the timing of your typing can replay it. Behaviour is one factor; a passkey is what stops that.",
	"Two people can be alike. If your colleague passes for you, that is a false match, and now you have seen one.",
}
