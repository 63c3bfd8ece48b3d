package store

import "context"

// EnrollKeys is how many keys an enrollment has collected in one session.
type EnrollKeys struct {
	SessionID string
	Keys      int
	Uncounted []byte // the vector of a frame whose keys were not counted when it was stored
}

// Keys adds up the keys of the frames that EnrollFrames would return if one more were stored, without that one. Each
// frame was counted when it was stored: no vector is read but of frames that an earlier release stored, each of which is a
// row of its own.
func (q Enrollments) Keys(ctx context.Context, subjectUID, device string) ([]EnrollKeys, error) {
	var rows []EnrollKeys
	err := q.gorm(ctx).Raw(`select session_id, coalesce(sum(keys), 0) as keys, uncounted from (
		select f.session_id, f.keys, case when f.keys is null then f.vector end as uncounted
		from frames f join sessions s on s.id = f.session_id
		where f.subject_uid = @uid and s.device_class = @device and f.purpose = 'enroll' and f.status = 'accepted'
		and f.vector is not null and f.received_at > `+enrollFloor+`
		order by f.received_at desc limit @most) newest
		group by session_id, uncounted`,
		map[string]any{"uid": subjectUID, "device": device, "most": enrollFrames - 1}).Scan(&rows).Error
	return rows, err
}
