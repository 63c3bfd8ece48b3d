package try

// passages are the texts that a visitor types to enroll. Each has more than 110 keys, the least that a session needs.
var passages = []string{
	"The quick answer is rarely the careful one. When a stranger asks me to move money in a hurry, I stop, breathe and read it all again.",
	"My keyboard knows none of my secrets, yet my hands have habits: some letters come fast, others wait, and a few I always get wrong.",
	"Tomorrow I will sit here again with the same coffee and the same ten fingers. If the rhythm is mine, the lock opens without a word.",
}

// figure is one measured rate of docs/accuracy.md. A test compares the two.
type figure struct {
	Rate string
	What string
}

// figures are those of the stated prior, because a visitor may be the first person of a deployment.
var figures = []figure{
	{"90.6 %", "of the time the person who enrolled is likely, from the third frame on"},
	{"93.9 %", "of the time a different person is not confirmed"},
	{"1.9 %", "of the time a different person is likely. This is why a proof states its assurance and why passkeys are used as a second factor"},
	{"89 %", "of take-overs are noticed within two frames, typically within 12 s of typing"},
}

var limits = []string{
	"Measured on recordings of 28 people writing essays on several days, in English on QWERTY keyboards. A single sitting gives less evidence than several days.",
	"Measured before anyone has enrolled: then nothing is above likely. Rates improve as a deployment learns from its own people.",
	"All recordings of a person are from the same keyboard. Expect much worse rates on a different one.",
	"An attacker who has recorded the timing of your typing can replay it. Behaviour is one factor; a passkey prevents this attack.",
	"Two people can type alike. If your colleague is taken for you, you have seen a false match.",
}
